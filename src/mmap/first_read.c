/* SPDX-License-Identifier: MIT */
#include "first_read.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sys.h"
#include "base/types.h"
#include "map/map.h"
#include "tunables.h"

#define LOOK_NS 50000 /* unit: between two looks */

static _Atomic uint64_t in_time; /* the device that answers so; 0: none */

static bool comes_by(uintptr_t page, uint64_t until)
{
	const struct timespec pause = { 0, LOOK_NS };

	while (!fm_in_memory(page)) {
		if (fm_now_ns() >= until)
			return false;
		fm_sys2(SYS_nanosleep, &pause, NULL);
	}
	return true;
}

/* Reads that do not wait are refused by some file systems (FUSE). */
static bool page_comes_by(int fd, uint64_t off, uint64_t until)
{
	void *p = fm_sys_mmap(NULL, FM_PAGE, PROT_READ, MAP_SHARED, fd,
			      (off_t)off);
	bool comes;

	if (fm_is_err(p))
		return true;
	comes = comes_by((uintptr_t)p, until);
	fm_sys_munmap(p, FM_PAGE);
	return comes;
}

bool fm_first_read_is_late(int fd, const struct stat *st, uint64_t off,
			   uint64_t ahead)
{
	const uint64_t dev = st->st_dev;
	const uint64_t until = fm_now_ns() + fm_tune.first_read_late_ns;

	if (atomic_load(&in_time) == dev || !fm_sys_may_ask() ||
	    fm_sys4(SYS_fadvise64, fd, (long)off, (long)ahead,
		    POSIX_FADV_WILLNEED))
		return false;
	if (!page_comes_by(fd, off, until))
		return true;
	atomic_store(&in_time, dev);
	return false;
}
