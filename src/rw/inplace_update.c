/* SPDX-License-Identifier: MIT */
#include "inplace_update.h"

#include "base/fds.h"
#include "base/life.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "vm/vm.h"

static int mem = -1; /* /proc/self/mem */
static struct stat id; /* of it: the number may become another's */
static int owner;
static _Atomic bool off;

static bool inplace_update_put(void *to, const void *from, size_t len)
{
	return fm_sys_pwrite(mem, from, len, (off_t)(uintptr_t)to) ==
	       (ssize_t)len;
}

static int inplace_update_start(void)
{
	static volatile char to, from = 1;
	int fd;

	if (mem >= 0 || fm_delivery() != FM_DELIVERY_SIGNAL)
		return 0;
	fd = fm_sys_open("/proc/self/mem", O_RDWR, 0);
	if (fd < 0)
		return fd;
	mem = fm_fd_raise(fd);
	owner = fm_sys_getpid();
	to = 0;
	/* Another's /proc shows us under a number that is somebody else's. */
	atomic_store(&off, fm_sys_stat_notimes(mem, &id) ||
				   !inplace_update_put((void *)&to,
						       (void *)&from, 1) ||
				   to != from);
	return 0;
}

/* It is the parent's memory. */
static void inplace_update_reset(void)
{
	fm_fd_drop(mem);
	mem = -1;
	atomic_store(&off, false);
}

bool fm_inplace_on(void)
{
	/* A child that was made past us has the parent's memory there. */
	return mem >= 0 && !atomic_load(&off) && !fm_sys_confined() &&
	       fm_sys_getpid() == owner &&
	       fm_sys_is_file(mem, id.st_dev, id.st_ino);
}

bool fm_rewrite(struct fm_map *m, uint64_t i, const void *src, uint64_t n)
{
	void *to = fm_map_addr(m, i);
	size_t len = n << FM_PAGE_SHIFT;

	if (atomic_load(&m->modes->bare) && inplace_update_put(to, src, len))
		return true;
	/* Said before the first of them is, for who looks after it has had
	 * their locks. */
	atomic_store(&m->modes->bare, true);
	if (fm_uffd_protect(to, len, false))
		return false;
	if (inplace_update_put(to, src, len))
		return true;
	atomic_store(&off, true); /* not on this kernel, or not any more */
	return false;
}

/* ---- whose memory it is ------------------------------------------------- */

#define PART 512 /* size: pages protected by one call */

/* Up to the next page that has been stored to, which stays as it is, or is not
 * locked: one that is being stored to for the first time. */
static int cover_run(struct fm_map *m, uint64_t *i, uint64_t hi)
{
	uint64_t lo = *i;
	int err = 0;

	while (*i < hi &&
	       (fm_mode(m, *i) & (PM_LOCKED | PM_WRITABLE)) == PM_LOCKED)
		++*i;
	if (*i > lo) /* what is not there takes no harm */
		err = fm_uffd_protect(fm_map_addr(m, lo),
				      (*i - lo) << FM_PAGE_SHIFT, true);
	++*i;
	return err;
}

/* Stores are about to be allowed, and the fault path knows that. */
static int inplace_update_cover(struct fm_map *m, void *arg)
{
	uint64_t pages = fm_map_pages(m);
	int err = 0;

	if (!m->shared || !atomic_load(&m->modes->bare))
		return 0;
	for (uint64_t lo = 0, hi; lo < pages && !err; lo = hi) {
		uint64_t i = lo;

		hi = fm_least(lo + PART, pages);
		fm_map_lock_part(m, lo, hi);
		while (i < hi && !err)
			err = cover_run(m, &i, hi);
		fm_map_unlock_part(m, lo, hi);
	}
	return err;
}

__attribute__((constructor)) static void inplace_update_begin(void)
{
	fm_mprotect_first = inplace_update_cover;
}

void fm_inplace_tighten(struct fm_file *f)
{
	struct fm_map *m;

	if (!fm_inplace_on())
		return;
	FM_HOLD_SPACE();
	fm_for_each_map(m, f)
		if (fm_inplace_loose(m))
			fm_map_sync_prot(m);
}

FM_LIFE(inplace_update, .level = FM_LIFE_HELPERS, .start = inplace_update_start,
	.reset = inplace_update_reset)
