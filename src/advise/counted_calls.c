/* SPDX-License-Identifier: MIT */
#include "counted_calls.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/pause.h"
#include "base/sys.h"
#include "engine.h"

#define SLOTS 64

/* The thread of each call, 0: free. Those of one thread are alike: it frees any
 * of them when a call ends. */
static _Atomic uint32_t slots[SLOTS];
static _Atomic uint32_t crowd; /* calls that have found no slot */
static _Thread_local struct {
	unsigned calls;
	uint32_t tid;
} mine __attribute__((tls_model("initial-exec")));

static uint32_t my_tid(void)
{
	if (!mine.tid)
		mine.tid = (uint32_t)fm_sys_gettid();
	return mine.tid;
}

/* The first slot that has `was` has `is` from now on. False: there is none. */
static bool change_slot(uint32_t was, uint32_t is)
{
	const uint32_t first = my_tid();

	for (uint32_t k = 0; k < SLOTS; k++) {
		uint32_t has = was;

		if (atomic_compare_exchange_strong(&slots[(first + k) % SLOTS],
						   &has, is))
			return true;
	}
	return false;
}

static void counted_calls_enter(void)
{
	if (!change_slot(0, my_tid()))
		atomic_fetch_add(&crowd, 1);
}

static void counted_calls_leave(void)
{
	if (!change_slot(my_tid(), 0))
		atomic_fetch_sub(&crowd, 1);
}

/* A thread that was cancelled in a call, or has left it by pthread_exit, has
 * not left its slot. */
static bool is_under_way(_Atomic uint32_t *slot)
{
	uint32_t tid = atomic_load(slot);

	if (!tid)
		return false;
	if (fm_sys_ended((int)tid))
		atomic_compare_exchange_strong(slot, &tid, 0);
	return true;
}

static bool counted_calls_any(void)
{
	bool yes = atomic_load(&crowd);

	for (unsigned i = 0; i < SLOTS; i++)
		yes |= is_under_way(&slots[i]);
	return yes;
}

bool fm_data_marked(const void *addr, size_t len)
{
	if (!fm_krange_in(addr, len))
		return false;
	if (!mine.calls)
		fm_krange_kept(addr, len);
	fm_fence();
	return fm_overlaps(addr, len);
}

bool fm_counted_calls_enter(const struct iovec *iov, int n)
{
	if (!fm_iov_any(iov, n, fm_krange_in))
		return false;
	mine.calls++;
	counted_calls_enter();
	fm_fence();
	if (!fm_iov_any(iov, n, fm_overlaps))
		return true;
	fm_counted_calls_ends();
	return false;
}

void fm_counted_calls_ends(void)
{
	mine.calls--;
	counted_calls_leave();
}

bool fm_counted_calls_wait(unsigned ms)
{
	uint64_t until = fm_now_ms() + ms;

	while (counted_calls_any()) {
		if (fm_now_ms() >= until)
			return false;
		fm_sys_sleep_us(FM_PAUSE_US);
	}
	return true;
}

/* The one thread that is here is in fork. */
static void counted_calls_forked(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		atomic_store(&slots[i], 0);
	atomic_store(&crowd, 0);
	mine.calls = mine.tid = 0;
}

FM_LIFE(counted_calls, .level = FM_LIFE_HELPERS, .forked = counted_calls_forked)
