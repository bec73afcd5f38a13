/* SPDX-License-Identifier: MIT */
#include "space_lock.h"

#include "base/lock.h"
#include "engine.h"

_Atomic uint32_t fm_live_maps;
static struct fm_lock lock = FM_LOCK(FM_RANK_SPACE);
static _Atomic(const void *) lock_owner; /* names a thread, see lock.h */

void fm_space_lock(uint64_t *ret_mask)
{
	fm_block_signals(ret_mask);
	fm_lock(&lock);
	atomic_store(&lock_owner, &fm_signals_blocked);
}

FM_FAULT bool fm_space_trylock(uint64_t *ret_mask)
{
	fm_block_signals(ret_mask);
	if (fm_trylock(&lock)) {
		atomic_store(&lock_owner, &fm_signals_blocked);
		return true;
	}
	fm_restore_signals(ret_mask);
	return false;
}

enum { NOTHING, HIDING, AWAITED };
static _Atomic uint32_t hiding; /* futex */
static _Atomic uint32_t shown;  /* how often it has been over */
static _Atomic uintptr_t hidden_from, hidden_to; /* all that is, and between */

/* The memory lives on, as what is hidden or what comes in its place: the hooks
 * must look. */
static void begin_hiding(uintptr_t start, uintptr_t end)
{
	atomic_store(&hidden_from, start);
	atomic_store(&hidden_to, end);
	atomic_fetch_add(&fm_live_maps, 1);
	atomic_store(&hiding, HIDING);
}

void fm_space_hiding(uintptr_t start, uintptr_t end)
{
	if (!atomic_load(&hiding))
		begin_hiding(start, end);
	if (start < atomic_load(&hidden_from))
		atomic_store(&hidden_from, start);
	if (end > atomic_load(&hidden_to))
		atomic_store(&hidden_to, end);
}

FM_FAULT uint32_t fm_space_shown(void)
{
	return atomic_load(&shown);
}

FM_FAULT bool fm_space_wait_hidden(uint32_t before)
{
	uint32_t v = HIDING;

	if (fm_space_locked())
		return false;
	if (!atomic_load(&hiding))
		return atomic_load(&shown) != before;
	if (atomic_compare_exchange_strong(&hiding, &v, AWAITED) ||
	    v == AWAITED)
		fm_futex_wait(&hiding, AWAITED, NULL);
	return true;
}

FM_FAULT bool fm_space_hides(uintptr_t start, uintptr_t end)
{
	return atomic_load(&hiding) && start < atomic_load(&hidden_to) &&
	       atomic_load(&hidden_from) < end && !fm_space_locked();
}

static FM_FAULT void end_hiding(void)
{
	atomic_fetch_add(&shown, 1); /* first: see fm_space_wait_hidden */
	if (atomic_exchange(&hiding, NOTHING) == AWAITED)
		fm_futex_wake(&hiding, 1 << 30);
	atomic_fetch_sub(&fm_live_maps, 1);
}

FM_FAULT void fm_space_unlock(const uint64_t *mask)
{
	if (atomic_load(&hiding))
		end_hiding();
	atomic_store(&lock_owner, NULL);
	fm_unlock(&lock);
	fm_restore_signals(mask);
}

FM_FAULT bool fm_space_locked(void)
{
	return atomic_load(&lock_owner) == &fm_signals_blocked;
}

static unsigned keeps; /* under the lock */

void fm_space_keep(void)
{
	keeps++;
}

void fm_space_keep_ends(void)
{
	keeps--;
}

bool fm_space_may_yield(void)
{
	return !keeps && !atomic_load(&hiding);
}

void fm_space_yield(void)
{
	atomic_store(&lock_owner, NULL);
	fm_unlock(&lock);
}

static _Atomic unsigned yields;

void fm_space_resume(void)
{
	fm_lock(&lock);
	atomic_store(&lock_owner, &fm_signals_blocked);
	atomic_fetch_add(&yields, 1);
}

unsigned fm_space_yields(void)
{
	return atomic_load(&yields);
}

void fm_space_may_wait(void)
{
	fm_check_ask(&lock, FM_RANK_SPACE);
}
