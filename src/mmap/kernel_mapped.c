/* SPDX-License-Identifier: MIT */
#include "kernel_mapped.h"

#include <sys/stat.h>

#include "base/proc.h"
#include "base/sys.h"
#include "file/file.h"
#include "short_maps.h"

#define MAPS "/proc/self/maps"
#define SLOTS 65536
#define PROBES 16
#define ANY ((dev_t)-1) /* device: seen in the maps, which do not say */

static struct entry {
	dev_t dev;
	ino_t ino;
	uintptr_t at; /* where it was mapped when last looked up */
} set[SLOTS];
static bool overflowed;

static unsigned slot_of(const struct stat *st)
{
	return (unsigned)((st->st_ino * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;
}

static bool is(const struct entry *e, const struct stat *st)
{
	return e->ino == st->st_ino && (e->dev == st->st_dev || e->dev == ANY);
}

void fm_kernel_mapped_add(const struct stat *st)
{
	for (unsigned k = 0; k < PROBES; k++) {
		struct entry *e = &set[(slot_of(st) + k) % SLOTS];

		if (is(e, st))
			return;
		if (e->ino)
			continue;
		*e = (struct entry){ st->st_dev, st->st_ino, 0 };
		return;
	}
	overflowed = true; /* from now on every file is looked up */
}

static void add_file(struct fm_file *f)
{
	struct stat st = { .st_dev = f->dev, .st_ino = f->ino };

	fm_kernel_mapped_add(&st);
}

static struct fm_file_observer observer = { .beside = add_file };

__attribute__((constructor)) static void begin(void)
{
	fm_file_observe(&observer);
}

/* The inode alone decides (proc.h): a file taken for another stays the
 * kernel's, no more. */
static bool add_line(const struct fm_proc_map *m, void *arg)
{
	struct stat st = { .st_dev = ANY, .st_ino = m->ino };

	if (st.st_ino)
		fm_kernel_mapped_add(&st);
	return false;
}

/* What was mapped without a look at the file: files of all that is mapped
 * now. */
static void add_blind(void)
{
	static char buf[16384];
	uint64_t what[FM_SHORT_MAPS];

	if (!fm_short_map_look(what))
		return;
	if (fm_proc_maps(MAPS, buf, sizeof(buf), add_line, NULL))
		overflowed = true;
	else
		fm_short_map_forget(what);
}

static bool look_at_line(const struct fm_proc_map *m, void *arg)
{
	*(uintptr_t *)arg = m->start;
	return true;
}

/* Still where it was? A program that maps a file piece by piece asks often.
 * What cannot be told is assumed to be the worst. */
static bool still_mapped(const struct stat *st, uintptr_t *at)
{
	static char buf[16384];

	if (fm_proc_map_at(*at, st->st_ino))
		return true;
	*at = 0;
	return fm_proc_maps_of(st->st_ino, buf, sizeof(buf), look_at_line,
			       at) || *at;
}

bool fm_kernel_mapped_has(const struct stat *st)
{
	uintptr_t nowhere = 0;

	add_blind();
	for (unsigned k = 0; k < PROBES; k++) {
		struct entry *e = &set[(slot_of(st) + k) % SLOTS];

		if (is(e, st))
			return still_mapped(st, &e->at);
	}
	return overflowed && still_mapped(st, &nowhere);
}
