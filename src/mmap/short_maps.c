/* SPDX-License-Identifier: MIT */
#include "short_maps.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "file/file.h"
#include "policy.h"
#include "seen_fd.h"
#include "serve/serve.h"
#include "tunables.h"
#include "unserved.h"

#define ANY ((dev_t)-1) /* device: seen in the maps, which do not say */
#define BUSY 1     /* bits: no page, no length: about to be mapped */
#define LONGEST ((size_t)FM_PAGE_MASK << FM_PAGE_SHIFT)

#define ADDRESS (FM_ARCH_END - 1 - FM_PAGE_MASK) /* bits: of it */
#define NUMBER (FM_ARCH_BITS + 1) /* bits: below it */

/* Address; below, the number of pages; above, the number of the mapping, so
 * that one in the place of another is not taken for it. */
static _Atomic uint64_t slots[FM_SHORT_MAPS];
static _Atomic uint32_t used, number;
static _Atomic bool moved;      /* one is where no slot says */
static _Atomic uint32_t met;    /* that are too short for any policy */

static int short_maps_slot_take(void)
{
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		uint64_t nothing = 0;

		if (!atomic_load_explicit(&slots[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&slots[i], &nothing, BUSY)) {
			atomic_fetch_add(&used, 1);
			return i;
		}
	}
	return -1;
}

static void slot_drop(int i, uint64_t what)
{
	if (atomic_compare_exchange_strong(&slots[i], &what, 0))
		atomic_fetch_sub(&used, 1);
}

/* st: its file, or NULL, any. */
static bool short_maps_is_served(const struct stat *st)
{
	struct fm_file *f;

	if (!st)
		return fm_files_any();
	f = fm_file_find(st->st_dev, st->st_ino);
	if (f)
		fm_file_put(f);
	return f;
}

static uint64_t short_maps_word_of(const void *p, size_t len)
{
	return (uint64_t)atomic_fetch_add(&number, 1) << NUMBER |
	       (uint64_t)(uintptr_t)p |
	       (len + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
}

/* Where no slot is free, the engine will look at all that is mapped. */
static void slot_fill(int i, uint64_t word)
{
	if (i < 0)
		atomic_store(&moved, true);
	else
		atomic_store(&slots[i], word);
}

/* The engine publishes a file, and then looks at the slots: it sees this one,
 * or we see the file. One that it sees busy will see the file. */
static void *short_maps_map(int i, const struct stat *st, void *addr,
			    size_t len, int prot, int flags, int fd, off_t off)
{
	void *p = fm_sys_mmap(addr, len, prot, flags, fd, off);
	uint64_t word = short_maps_word_of(p, len);

	if (fm_is_err(p)) {
		if (i >= 0)
			slot_drop(i, BUSY);
		return NULL;
	}
	slot_fill(i, word);
	if (!short_maps_is_served(st) && !((uintptr_t)p & ~ADDRESS))
		return p;
	fm_sys_munmap(p, len);
	if (i >= 0)
		slot_drop(i, word);
	return NULL;
}

/*
 * No policy has one so short, whatever the file. Some are looked at all the
 * same. A child of fork has claims of its parent's, which a mapping for stores
 * may change.
 */
static bool needs_no_look(size_t len, int flags)
{
	uint32_t n;

	if (len >= fm_policy_least_size() ||
	    fm_settings()->mode != FM_MODE_ON ||
	    ((flags & MAP_TYPE) != MAP_PRIVATE &&
	     atomic_load(&fm_placeholders)))
		return false;
	n = atomic_fetch_add_explicit(&met, 1, memory_order_relaxed);
	return n >= fm_tune.windows_sure && n % (fm_tune.windows_unasked + 1);
}

void *fm_short_map_unseen(const struct stat *st, void *addr, size_t len,
			  int prot, int flags, int fd, off_t off)
{
	void *p;

	if (len > LONGEST || !needs_no_look(len, flags))
		return NULL;
	p = short_maps_map(short_maps_slot_take(), st, addr, len, prot, flags,
			   fd, off);
	if (p)
		fm_unserved_unseen();
	return p;
}

void *fm_short_map_mmap(void *addr, size_t len, int prot, int flags, int fd,
			off_t off)
{
	struct fm_unserved *l;
	void *p;
	int i;

	if (len > LONGEST)
		return NULL;
	l = fm_seen_fd_short(fd, len);
	i = l ? short_maps_slot_take() : -1;
	if (i < 0)
		return fm_short_map_unseen(NULL, addr, len, prot, flags, fd,
					   off);
	p = short_maps_map(i, NULL, addr, len, prot, flags, fd, off);
	if (p)
		fm_unserved_again(l, len, prot, flags);
	return p;
}

/* ---- until it is unmapped ---------------------------------------------- */

static uintptr_t short_maps_start_of(uint64_t word)
{
	return (uintptr_t)(word & ADDRESS);
}

static uintptr_t short_maps_end_of(uint64_t word)
{
	return short_maps_start_of(word) +
	       (uintptr_t)((word & FM_PAGE_MASK) << FM_PAGE_SHIFT);
}

void fm_short_map_moves(const void *addr, size_t len)
{
	const uintptr_t a = (uintptr_t)addr;

	if (!atomic_load_explicit(&used, memory_order_relaxed))
		return;
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		const uint64_t word = atomic_load(&slots[i]);

		if (short_maps_start_of(word) < a + len &&
		    short_maps_end_of(word) > a)
			atomic_store(&moved, true);
	}
}

/* Before: another thread may have mapped something there the moment after. */
bool fm_short_map_in(const void *addr, size_t len, uint64_t ret[FM_SHORT_MAPS])
{
	const uintptr_t a = (uintptr_t)addr;
	bool any = false;

	if (!atomic_load(&used))
		return false;
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		ret[i] = atomic_load(&slots[i]);
		if (short_maps_start_of(ret[i]) < a ||
		    short_maps_end_of(ret[i]) - a > fm_page_up(len))
			ret[i] = 0;
		any |= short_maps_start_of(ret[i]) != 0;
	}
	return any;
}

/* What is there, as it is now; is there anything? */
static bool short_maps_look(uint64_t ret[FM_SHORT_MAPS])
{
	const bool gone = atomic_exchange(&moved, false);

	return fm_short_map_in(NULL, ~FM_PAGE_MASK, ret) || gone;
}

void fm_short_map_forget(const uint64_t what[FM_SHORT_MAPS])
{
	for (int i = 0; i < FM_SHORT_MAPS; i++)
		if (short_maps_start_of(what[i]))
			slot_drop(i, what[i]);
}

/* ---- which files the kernel has ----------------------------------------- */

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

	if (!short_maps_look(what))
		return;
	if (fm_proc_maps(FM_OWN_MAPS, buf, sizeof(buf), add_line, NULL))
		atomic_store(&fm_serve_incomplete, true);
	else
		fm_short_map_forget(what);
}

static bool short_maps_look_at_line(const struct fm_proc_map *m, void *arg)
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
	return fm_proc_maps_of(FM_OWN_MAPS, st->st_ino, buf, sizeof(buf),
			       short_maps_look_at_line, at) ||
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
