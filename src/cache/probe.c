/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "tunables.h"

#define MOST (1u << 30) /* size: no overflow */

static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
static _Atomic uint64_t ends_ms;   /* of the period */
static _Atomic uint64_t most; /* pages that may leave in it; 0: the first */
static _Atomic uint64_t left, back; /* in it */
static uint64_t before;            /* left in the one before, under the lock */

/* One of the first that comes back says that they are in use; of more, as large
 * a part. Those that left late in a period come back in the next one. */
static FM_FAULT void next_period(uint64_t now)
{
	const uint64_t had = atomic_exchange(&left, 0);
	const uint64_t came = atomic_exchange(&back, 0);
	const uint64_t may = atomic_load(&most);

	if (!may || (came * fm_tune.probe_first >= before && came))
		atomic_store(&most, fm_tune.probe_first);
	else if (had >= may && may < MOST)
		atomic_store(&most, 2 * may);
	before = had;
	atomic_store(&ends_ms, now + fm_tune.probe_period_ms);
}

FM_FAULT uint64_t fm_probe_may(void)
{
	const uint64_t now = fm_now_ms();
	uint64_t may, had;

	if (now >= atomic_load_explicit(&ends_ms, memory_order_relaxed) &&
	    fm_trylock(&lock)) {
		next_period(now);
		fm_unlock(&lock);
	}
	may = atomic_load_explicit(&most, memory_order_relaxed);
	had = atomic_load_explicit(&left, memory_order_relaxed);
	return may > had ? may - had : 0;
}

FM_FAULT void fm_probe_left(uint64_t pages)
{
	fm_count(&left, pages);
}

FM_FAULT void fm_probe_back(uint64_t pages)
{
	fm_count(&back, pages);
}

static void probe_reset(void)
{
	fm_lock_reset(&lock);
	before = 0;
	atomic_store(&ends_ms, 0);
	atomic_store(&most, 0);
	atomic_store(&left, 0);
	atomic_store(&back, 0);
}

FM_LIFE(probe, .level = FM_LIFE_MEMORY, .reset = probe_reset)
