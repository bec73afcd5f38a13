/* SPDX-License-Identifier: MIT */
#include "passing.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "engine.h"
#include "krange.h"

#define PAUSE_US 100

static _Atomic uint32_t passing;
static _Thread_local unsigned mine
	__attribute__((tls_model("initial-exec"))); /* of these */

bool fm_data_marked(const void *addr, size_t len)
{
	if (!fm_krange_in(addr, len))
		return false;
	if (!mine)
		fm_krange_kept(addr, len);
	fm_fence();
	return fm_overlaps(addr, len);
}

bool fm_passing_counted(const struct iovec *iov, int n)
{
	if (!fm_iov_any(iov, n, fm_krange_in))
		return false;
	mine++;
	atomic_fetch_add(&passing, 1);
	fm_fence();
	if (!fm_iov_any(iov, n, fm_overlaps))
		return true;
	fm_passing_ends();
	return false;
}

void fm_passing_ends(void)
{
	mine--;
	atomic_fetch_sub(&passing, 1);
}

bool fm_passing_wait(unsigned ms)
{
	uint64_t until = fm_now_ms() + ms;

	while (atomic_load(&passing)) {
		if (fm_now_ms() >= until)
			return false;
		fm_sys_sleep_us(PAUSE_US);
	}
	return true;
}

/* The one thread that is here is in fork. */
static void forked(void)
{
	atomic_store(&passing, 0);
	mine = 0;
}

FM_LIFE(passing, .level = FM_LIFE_HELPERS, .forked = forked)
