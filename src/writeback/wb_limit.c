/* SPDX-License-Identifier: MIT */
/*
 * wb_limit.c - how much may be dirty before write-back begins.
 *
 * The watermark of the policy, as a rule. But a page that is stored to again
 * soon after it was written has been written for nothing (a heap that lies on a
 * file, an index that is being built): the device is busy with it, and each
 * page costs a fault more. Where most of what write-back cleans is such, the
 * watermark rises, as far as memory allows: what others leave (budget.h), but
 * for a part that they may take at once, since dirty pages must be written
 * before they can have theirs. It falls when what has been cleaned stays clean,
 * which is what eviction wants, and when eviction finds nothing clean. How long
 * a page may be dirty is another matter (wb-interval).
 */
#include "wb_priv.h"

#include "base/life.h"
#include "file/file.h"
#include "policy.h"
#include "tunables.h"

static _Atomic uint64_t raised;  /* pages; 0: what the policy says */
static _Atomic uint64_t allowed; /* by memory */
static _Atomic uint64_t cleaned, again; /* since the last conclusion */
static _Atomic uint64_t again_ns;       /* of a page, as of then */
static _Atomic bool tight, urgent;
static _Atomic bool concludes; /* somebody */
struct fm_event fm_wb_kicked;

FM_FAULT void fm_wb_kick(void)
{
	fm_event_raise(&fm_wb_kicked);
}

FM_FAULT void fm_wb_cleaned(uint64_t pages)
{
	fm_count(&cleaned, pages);
}

FM_FAULT void fm_wb_again(uint64_t pages)
{
	fm_count(&again, pages);
}

uint64_t fm_wb_again_ns(void)
{
	return atomic_load(&again_ns);
}

FM_FAULT void fm_wb_tight(void)
{
	if (!atomic_load_explicit(&tight, memory_order_relaxed))
		atomic_store(&tight, true);
}

static FM_FAULT uint64_t usual(void)
{
	return fm_cache_limit() * fm_policy_default()->wb_high / 100;
}

FM_FAULT uint64_t fm_wb_most(void)
{
	uint64_t up = atomic_load_explicit(&raised, memory_order_relaxed);
	uint64_t most = atomic_load_explicit(&allowed, memory_order_relaxed);
	uint64_t base = usual();

	up = up < most ? up : most;
	return up > base ? up : base;
}

FM_FAULT bool fm_wb_urgent(void)
{
	return atomic_load_explicit(&urgent, memory_order_relaxed);
}

void fm_wb_allow(uint64_t bytes, bool now)
{
	atomic_store(&allowed, bytes >> FM_PAGE_SHIFT);
	if (atomic_exchange(&urgent, now) != now || now ||
	    atomic_load(&fm_dirty_total) > (int64_t)fm_wb_most())
		fm_wb_kick();
}

static void rise(void)
{
	atomic_store(&raised, 2 * fm_wb_most());
}

/* Not twice for one reason. */
static void fall(uint64_t *since, uint64_t now_ms)
{
	uint64_t most = fm_wb_most();

	most -= most / 4;
	atomic_store(&raised, most > usual() ? most : 0);
	*since = now_ms;
}

/* Stores come back late: that most of what was written is stored to again is
 * true as soon as it is seen, that it is not, only later. */
static void conclude(void)
{
	static uint64_t since, tight_since;
	uint64_t n = atomic_load(&cleaned), back = atomic_load(&again);
	uint64_t now = fm_now_ms();

	if (now - tight_since > fm_tune.wb_again_ms &&
	    atomic_exchange(&tight, false))
		fall(&tight_since, now);
	if (n < fm_tune.wb_ahead ||
	    (back <= n / 2 && now - since < FM_SECOND_MS))
		return;
	if (back > n / 2)
		rise();
	else if (back < n / 4)
		fall(&since, now);
	since = now;
	atomic_store(&again_ns, fm_least(back, n) * fm_tune.wb_fault_ns / n);
	atomic_store(&cleaned, 0);
	atomic_store(&again, 0);
}

void fm_wb_conclude(void)
{
	if (atomic_exchange(&concludes, true))
		return;
	conclude();
	atomic_store(&concludes, false);
}

void fm_wb_most_reset(void)
{
	atomic_store(&concludes, false);
	atomic_store(&raised, 0);
	atomic_store(&allowed, 0);
	atomic_store(&cleaned, 0);
	atomic_store(&again, 0);
	atomic_store(&again_ns, 0);
	atomic_store(&tight, false);
	atomic_store(&urgent, false);
}
