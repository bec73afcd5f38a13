/* SPDX-License-Identifier: MIT */
#include "outside.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "short_maps.h"
#include "tunables.h"

#define FDS 4    /* that a thread has in mind */

/* again is 0 while the rest is not to be trusted: a signal handler of the
 * program may map in the middle. */
static _Thread_local struct {
	volatile uint32_t again;
	uint32_t closes;
	int fd;
	dev_t dev;
	ino_t ino;
	struct timespec changed;
} seen[FDS] __attribute__((tls_model("initial-exec")));

bool fm_outside(int fd, const struct stat *st)
{
	const unsigned i = (unsigned)fd % FDS;

	if (!seen[i].again || seen[i].fd != fd ||
	    seen[i].closes != fm_short_map_closes() ||
	    seen[i].ino != st->st_ino || seen[i].dev != st->st_dev ||
	    seen[i].changed.tv_sec != st->st_ctim.tv_sec ||
	    seen[i].changed.tv_nsec != st->st_ctim.tv_nsec)
		return false;
	seen[i].again--;
	return true;
}

void fm_outside_note(int fd, const struct stat *st)
{
	const unsigned i = (unsigned)fd % FDS;

	seen[i].again = 0;
	if (st->st_nlink > 1)
		return;
	atomic_signal_fence(memory_order_seq_cst);
	seen[i].fd = fd;
	seen[i].closes = fm_short_map_closes();
	seen[i].dev = st->st_dev;
	seen[i].ino = st->st_ino;
	seen[i].changed = st->st_ctim;
	atomic_signal_fence(memory_order_seq_cst);
	seen[i].again = fm_tune.windows_unasked;
}
