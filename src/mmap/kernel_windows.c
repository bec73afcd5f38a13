/* SPDX-License-Identifier: MIT */
#include "kernel_windows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_part.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "pagecache_probe.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "seen_fd.h"
#include "short_maps.h"
#include "unserved.h"
#include "tunables.h"
#include "writeback/writeback.h"

FM_FILE_PART(windows)

#define LATELY 256 /* unit: of which the share of cached ones is counted */

static _Atomic bool any; /* grants have been made */

static void forget_windows(struct fm_file *f)
{
	atomic_store(&f->windows->grants, 0);
	f->windows->cached = f->windows->granted = 0;
}

FM_UP(file_again, forget_windows)

static void seen_window(struct fm_file *f)
{
	f->windows->by_kernel = true;
}

FM_UP(file_beside, seen_window)

/* Blocks that are mapped again soon are best kept where they outlive a
 * mapping: in the page cache, which then also reads ahead from one window to
 * the next. */
void fm_window_note(struct fm_file *f, size_t len)
{
	const uint64_t n = atomic_fetch_add(&f->st->mappings, 1);

	if (len > FM_SMALL_WINDOW || atomic_load(&f->by_pieces) ||
	    n < fm_tune.windows_sure)
		return;
	fm_file_mixed(f); /* first: windows do not ask what is in flight */
	atomic_store(&f->by_pieces, true);
}

/* Pages that the page cache may have beside the engine's cache. In the first
 * second it is not known what others leave. */
static uint64_t kernel_windows_room(void)
{
	const uint64_t ours = (uint64_t)fm_cache_resident();
	uint64_t all = fm_mem_monitor_all() >> FM_PAGE_SHIFT;

	if (!all)
		all = fm_cache_limit();
	return all > ours ? all - ours : 0;
}

/*
 * Does the part of the file that windows are taken of fit into memory? How much
 * of the file is cached can be asked for, and the share of windows that are
 * cached already tells how much of the part that is (as fish are counted by
 * marking some and catching again: Petersen's estimate).
 */
static bool part_fits(const struct fm_file *f, int fd, const struct stat *st)
{
	return f->windows->found >= fm_tune.windows_sure &&
	       fm_pagecache_pages(fd, st) * f->windows->asked /
			       f->windows->found < kernel_windows_room();
}

/* A part that fits is soon found in the page cache if more than the windows is
 * read, and of one that does not fit a few hundred reads tell. */
static bool try_around(struct fm_file *f)
{
	if (f->windows->tried >= kernel_windows_room() / fm_tune.windows_tried)
		return false;
	f->windows->tried += FM_HUGE >> FM_PAGE_SHIFT;
	return true;
}

/*
 * A look at the whole file, now and then. The kernel walks all that it knows
 * of the file, also of pages that it no longer has: 10 ms for 8 GiB.
 */
static void kernel_windows_look_again(struct fm_file *f, int fd,
				      const struct stat *st)
{
	uint64_t begin = fm_now_ns(), end;

	if (begin < f->windows->next_look)
		return;
	f->windows->bring = part_fits(f, fd, st);
	end = fm_now_ns();
	f->windows->next_look = end + fm_tune.helper_share * (end - begin);
}

static void kernel_windows_note_window(struct fm_file *f, int fd,
				       const struct stat *st, bool cached)
{
	if (f->windows->asked == LATELY) {
		f->windows->asked /= 2;
		f->windows->found /= 2;
	}
	f->windows->asked++;
	f->windows->found += cached;
	f->windows->cached = cached ? f->windows->cached + 1 : 0;
	if (!cached)
		kernel_windows_look_again(f, fd, st);
}

void fm_kernel_windows_bring(enum fm_bring what, int fd, dev_t dev, off_t off,
			     size_t len)
{
	struct fm_fetch_run r = { (uint64_t)off, (uint64_t)off + len };
	struct fm_fetch f;

	fm_fetch_begin(&f, fd, dev, false);
	if (what == FM_BRING_WINDOW)
		f.piece = len;
	else
		r = (struct fm_fetch_run){ r.start & ~(FM_HUGE - 1),
					   (r.end + FM_HUGE - 1) &
						   ~(FM_HUGE - 1) };
	fm_fetch_run(&f, &r, fm_tune.resident_turn_ms);
}

/* The next n windows are the kernel's, unasked. How many of those before have
 * been used. */
static unsigned grant(struct fm_file *f, unsigned n)
{
	uint32_t left = atomic_exchange(&f->windows->grants, n);
	unsigned used = f->windows->granted - left;

	f->windows->granted = n;
	if (n)
		atomic_store(&any, true);
	return used;
}

/* So many were alike. */
static bool kernel_windows_is_sure(const struct fm_file *f, unsigned alike)
{
	return alike >= fm_tune.windows_sure &&
	       !atomic_load(&f->stores_wanted);
}

unsigned fm_kernel_windows_note(struct fm_file *f)
{
	const bool sure = kernel_windows_is_sure(f, f->windows->cached);
	const unsigned n = sure ? fm_tune.windows_unasked : 0;
	const unsigned used = f->windows->unsaid + grant(f, n);

	f->windows->unsaid = 0;
	fm_file_beside(f);
	return used + 1;
}

/*
 * This one is ours, to see whether it is touched. Those before were not: to map
 * and to unmap is all that is asked for, and the kernel may do it. A program
 * that begins to touch them has the kernel's read-around until the next one
 * that is ours.
 */
static bool grant_idle(struct fm_file *f)
{
	if (!kernel_windows_is_sure(f, f->idle))
		return false;
	fm_file_beside(f);
	f->windows->unsaid += grant(f, fm_tune.windows_unasked);
	return true;
}

static enum fm_bring kernel_windows_bring(struct fm_file *f, size_t len)
{
	const bool whole = len >= fm_tune.windows_whole;

	if (f->windows->bring || (whole && try_around(f)))
		return FM_BRING_AROUND;
	return whole ? FM_BRING_WINDOW : FM_BRING_NOTHING;
}

bool fm_kernel_windows_may(struct fm_file *f, bool stores, int fd,
		   const struct stat *st, off_t off, size_t len,
		   enum fm_bring *ret_bring)
{
	bool cached;

	if (!atomic_load(&f->by_pieces) || f->io->writable || stores ||
	    len > FM_SMALL_WINDOW || fm_settings()->mode != FM_MODE_ON ||
	    f->policy->warm == FM_WARM_ENGINE)
		return false;
	cached = fm_pagecache_window(fd, st, (uint64_t)off, len);
	kernel_windows_note_window(f, fd, st, cached);
	if (!cached && len < fm_tune.windows_whole && grant_idle(f))
		return false;
	if (!cached)
		*ret_bring = kernel_windows_bring(f, len);
	return cached || len >= fm_tune.windows_whole;
}

/* The flag first, then the look: who maps with a grant maps first and then
 * looks at the flag, so one of the two sees the other. */
bool fm_kernel_windows_ends(struct fm_file *f, const struct stat *st)
{
	atomic_store(&f->stores_wanted, true);
	return f->windows->by_kernel && fm_kernel_mapped_has(st);
}

static bool take_grant(struct fm_file *f)
{
	uint32_t n = atomic_load(&f->windows->grants);

	while (n)
		if (atomic_compare_exchange_weak(&f->windows->grants, &n,
						 n - 1))
			return true;
	return false;
}

/* What is mapped shows what ours show, now and later. */
static bool still_true(struct fm_file *f)
{
	return !atomic_load(&f->stores_wanted) && !fm_kernel_serves(f);
}

static void *map_beside(struct fm_file *f, void *addr, size_t len, int flags,
			int fd, off_t off)
{
	void *p;

	if (!still_true(f) || !take_grant(f))
		return NULL;
	p = fm_sys_mmap(addr, len, PROT_READ, flags, fd, off);
	if (fm_is_err(p))
		return NULL;
	if (still_true(f))
		return p;
	fm_sys_munmap(p, len);
	return NULL;
}

/* mprotect(2) may make a shared one writable unless the descriptor is not. */
static bool never_stored(int flags, int fd)
{
	return flags == MAP_PRIVATE ||
	       (flags == MAP_SHARED &&
		(fm_sys3(SYS_fcntl, fd, F_GETFL, 0) & (O_ACCMODE | O_PATH)) ==
			O_RDONLY);
}

static void *map_known(struct fm_file *f, void *addr, size_t len, int prot,
		       int flags, int fd, off_t off)
{
	if (prot != PROT_READ || len > FM_SMALL_WINDOW || (flags & ~MAP_TYPE) ||
	    !atomic_load(&f->windows->grants) || !never_stored(flags, fd))
		return NULL;
	return map_beside(f, addr, len, flags, fd, off);
}

/* Of a file that is not ours, and too short to make it so, as one before was.
 * Another thread may give the file to the engine meanwhile: it publishes the
 * file and then looks for mappings of the kernel's. The system call keeps the
 * order here. */
static void *map_short(const struct stat *st, void *addr, size_t len, int prot,
		       int flags, int fd, off_t off)
{
	struct fm_unserved *l = fm_unserved_short_before(st, len);
	struct fm_file *f;
	void *p;

	if (!l)
		return NULL;
	p = fm_sys_mmap(addr, len, prot, flags, fd, off);
	if (fm_is_err(p))
		return NULL;
	f = fm_file_find(st->st_dev, st->st_ino);
	if (!f) {
		fm_unserved_again(l, len, prot, flags);
		fm_seen_fd_note(fd, st, l, NULL);
		return p;
	}
	fm_file_put(f);
	fm_sys_munmap(p, len);
	return NULL;
}

/* Is there a chance, before anything is looked up? */
static bool worth_look(size_t len, int flags, int fd)
{
	size_t most = atomic_load(&any) ? FM_SMALL_WINDOW : 0;

	return fd >= 0 && len &&
	       (len <= most || len <= fm_unserved_longest() ||
		len < fm_policy_least_size()) &&
	       !(flags & ~(MAP_TYPE | MAP_POPULATE | MAP_NORESERVE)) &&
	       !fm_placeholders_left();
}

void *fm_mmap_window(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	const bool served = fm_files_any();
	struct fm_file *f;
	struct stat st;
	void *p;

	if (!worth_look(len, flags, fd))
		return NULL;
	p = served ? NULL :
		     fm_short_map_mmap(addr, len, prot, flags, fd, off);
	if (p)
		return p;
	if (fm_sys_fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	f = fm_file_find(st.st_dev, st.st_ino);
	if (!f) {
		p = map_short(&st, addr, len, prot, flags, fd, off);
		return p || !served ? p :
		       fm_short_map_unseen(&st, addr, len, prot, flags, fd,
					   off);
	}
	p = map_known(f, addr, len, prot, flags, fd, off);
	fm_file_put(f);
	return p;
}
