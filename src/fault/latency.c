/* SPDX-License-Identifier: MIT */
#include "latency.h"

#include "base/life.h"
#include "base/sys.h"

/* Threads that fault together must not share the counters' cache lines. A
 * thread's stack says which shard, without asking the kernel. */
#define SHARDS 8
static struct fm_hist latency[SHARDS];
static _Atomic bool any;

FM_FAULT void fm_latency_note(uint64_t ns)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	if (!atomic_load_explicit(&any, memory_order_relaxed))
		atomic_store(&any, true);
	fm_hist_record(&latency[(sp >> 16 ^ sp >> 20) % SHARDS], ns);
}

uint64_t fm_latency_spent(uint64_t *ret_faults)
{
	uint64_t ns = 0;

	*ret_faults = 0;
	for (int i = 0; i < SHARDS; i++) {
		ns += fm_hist_sum(&latency[i]);
		*ret_faults += fm_hist_count(&latency[i]);
	}
	return ns;
}

void fm_latency_sum(struct fm_hist *ret)
{
	for (int i = 0; i < SHARDS; i++)
		fm_hist_add(ret, &latency[i]);
}

static void latency_forked(void)
{
	if (atomic_exchange(&any, false))
		fm_sys_clear(latency, sizeof(latency));
}

FM_LIFE(latency, .level = FM_LIFE_FAULTS, .forked = latency_forked)
