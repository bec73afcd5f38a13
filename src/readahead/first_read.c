/* SPDX-License-Identifier: MIT */
#include "first_read.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sys.h"
#include "base/types.h"
#include "io/io.h"
#include "map/map.h"
#include "tunables.h"

#define LOOK_NS 50000 /* unit: between two looks, at least */

static _Atomic bool stopped;

/* As often as tells the time to a few parts in a hundred; a sleep takes
 * LOOK_NS more than was asked for. */
static void pause_after(uint64_t ns)
{
	const struct timespec pause = { 0, LOOK_NS };

	if (ns < 8 * LOOK_NS)
		fm_sys0(SYS_sched_yield);
	else
		fm_sys2(SYS_nanosleep, &pause, NULL);
}

static bool comes_by(uintptr_t page, uint64_t until)
{
	const uint64_t from = fm_now_ns();
	uint64_t now = from;

	while (!fm_in_memory(page)) {
		if (now >= until || atomic_load(&stopped))
			return false;
		pause_after(now - from);
		now = fm_now_ns();
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
	static _Atomic uint64_t in_time; /* the device that answers so */
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

/* What is under way already says less than it takes. */
static bool first_read_one(dev_t dev, uintptr_t page)
{
	const uint64_t from = fm_now_ns();

	if (fm_in_memory(page) ||
	    fm_sys_madvise((void *)page, FM_PAGE, MADV_WILLNEED) ||
	    !comes_by(page, from + (uint64_t)fm_tune.device_longest_ns))
		return false;
	fm_device_took(dev, 1, fm_now_ns() - from);
	return true;
}

/* In order the kernel has up to two reads ahead. */
void fm_first_read_for(dev_t dev, struct fm_fetch_run r, uint64_t ahead)
{
	uintptr_t page = r.start;

	do
		page += 2 * ahead;
	while (page < r.end && !atomic_load(&stopped) &&
	       first_read_one(dev, page) && !fm_device_has_told(dev));
}

void fm_first_read_stop(bool yes)
{
	atomic_store(&stopped, yes);
}
