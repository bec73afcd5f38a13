/* SPDX-License-Identifier: MIT */
#include "reads.h"

#include <sys/stat.h>

#include "fork.h"
#include "sys.h"
#include "types.h"

#define PROBES 8

static struct {
	_Atomic int fd; /* + 1; 0: free */
	char pad[FM_CACHELINE - sizeof(int)];
} slots[FM_READS_FULL];
static _Atomic unsigned stored; /* files */

unsigned fm_read_enter(int fd)
{
	static _Thread_local unsigned last
		__attribute__((tls_model("initial-exec")));
	unsigned i = last ? last : (unsigned)fm_sys_gettid() * 7u;

	for (unsigned tries = 0; tries < PROBES; tries++, i++) {
		int free_slot = 0;

		i %= FM_READS_FULL;
		if (atomic_load_explicit(&slots[i].fd, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&slots[i].fd, &free_slot,
						    fd + 1))
			continue;
		last = i;
		return i;
	}
	return FM_READS_FULL;
}

void fm_read_leave(unsigned slot)
{
	if (slot < FM_READS_FULL)
		atomic_store_explicit(&slots[slot].fd, 0,
				      memory_order_release);
}

bool fm_reads_look(void)
{
	return atomic_load(&stored) || atomic_load(&fm_fork_touch_file);
}

bool fm_reads_stored(const struct stat *st)
{
	bool found = false;

	/* Before the look at the slots: who enters after it sees this. */
	atomic_fetch_add(&stored, 1);
	for (unsigned i = 0; i < FM_READS_FULL && !found; i++) {
		int fd = atomic_load(&slots[i].fd) - 1;

		found = fd >= 0 && fm_sys_is_file(fd, st->st_dev, st->st_ino);
	}
	return found;
}

void fm_reads_forget(void)
{
	atomic_fetch_sub(&stored, 1);
}

void fm_reads_reset(void)
{
	atomic_store(&stored, 0);
	for (unsigned i = 0; i < FM_READS_FULL; i++)
		atomic_store(&slots[i].fd, 0);
}
