/* SPDX-License-Identifier: MIT */
#include "kernel_mapped.h"

#include <fcntl.h>
#include <sys/ioctl.h>

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

/* Linux 6.11: one mapping by its address, without printing all of them. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, id_size;
	uint64_t name, id;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)

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

/* Still where it was? A program that maps a file piece by piece asks often. */
static bool mapped_at(uintptr_t at, const struct stat *st)
{
	struct map_query q = { .size = sizeof(q), .addr = at };
	int fd = at ? fm_sys_open(MAPS, O_RDONLY, 0) : -1;
	bool there;

	if (fd < 0)
		return false;
	there = !fm_sys3(SYS_ioctl, fd, (long)MAP_QUERY, (long)&q) &&
		q.inode == st->st_ino;
	fm_sys_close(fd);
	return there;
}

struct look_up {
	const struct stat *st;
	uintptr_t at; /* where a line of the maps names it; 0: nowhere */
};

static bool look_at_line(const struct fm_proc_map *m, void *arg)
{
	struct look_up *l = arg;

	if (m->ino == l->st->st_ino)
		l->at = m->start;
	return l->at;
}

static bool still_mapped(const struct stat *st, uintptr_t *at)
{
	struct look_up l = { .st = st };
	static char buf[16384];

	if (mapped_at(*at, st))
		return true;
	if (fm_proc_maps(MAPS, buf, sizeof(buf), look_at_line, &l))
		return true; /* cannot tell: assume the worst */
	*at = l.at;
	return *at != 0;
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
