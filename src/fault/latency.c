/* SPDX-License-Identifier: MIT */
#include "latency.h"

#include "base/life.h"
#include "base/sys.h"
#include "base/types.h"

/* Threads that fault together must not share the counters' cache lines. A
 * thread's stack says which shard, without asking the kernel. */
#define SHARDS 8
static struct fm_hist latency[SHARDS];
static struct {
	_Alignas(FM_CACHELINE) _Atomic uint64_t ns, faults;
} spent[SHARDS];

FM_FAULT void fm_latency_note(uint64_t ns)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	sp = (sp >> 16 ^ sp >> 20) % SHARDS;
	fm_hist_record(&latency[sp], ns);
	atomic_fetch_add_explicit(&spent[sp].ns, ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&spent[sp].faults, 1, memory_order_relaxed);
}

uint64_t fm_latency_spent(uint64_t *ret_faults)
{
	uint64_t ns = 0;

	*ret_faults = 0;
	for (int i = 0; i < SHARDS; i++) {
		ns += atomic_load(&spent[i].ns);
		*ret_faults += atomic_load(&spent[i].faults);
	}
	return ns;
}

void fm_latency_sum(struct fm_hist *ret)
{
	for (int i = 0; i < SHARDS; i++)
		fm_hist_add(ret, &latency[i]);
}

/* The last 64 files one by one, all of them in the totals. */

static void forked(void)
{
	for (int i = 0; i < SHARDS; i++)
		fm_hist_reset(&latency[i]);
}

FM_LIFE(latency, .level = FM_LIFE_FAULTS, .forked = forked)
