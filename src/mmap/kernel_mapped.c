/* SPDX-License-Identifier: MIT */
#include "kernel_mapped.h"

#include <sys/stat.h>

#include "base/proc.h"
#include "base/sys.h"
#include "serve/serve.h"
#include "short_maps.h"

#define MAPS "/proc/self/maps"
#define ANY ((dev_t)-1) /* device: seen in the maps, which do not say */

/* The inode alone decides (proc.h): a file taken for another stays the
 * kernel's, no more. */
static bool add_line(const struct fm_proc_map *m, void *arg)
{
	if (m->ino)
		fm_serve_kernel(ANY, m->ino);
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
		atomic_store(&fm_serve_incomplete, true);
	else
		fm_short_map_forget(what);
}

static bool kernel_mapped_look_at_line(const struct fm_proc_map *m, void *arg)
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
	return fm_proc_maps_of(st->st_ino, buf, sizeof(buf),
			       kernel_mapped_look_at_line, at) ||
	       *at;
}

bool fm_kernel_mapped_has(const struct stat *st)
{
	struct fm_serve_entry *c;
	uintptr_t nowhere = 0;

	add_blind();
	c = fm_serve_find(st->st_dev, st->st_ino);
	if (!c || !atomic_load(&c->kernel))
		c = fm_serve_find(ANY, st->st_ino);
	if (c && atomic_load(&c->kernel))
		return still_mapped(st, &c->kernel_at);
	/* what is in no entry has to be looked up */
	return atomic_load(&fm_serve_incomplete) && still_mapped(st, &nowhere);
}
