/* SPDX-License-Identifier: MIT */
#include "freeze.h"

#include "base/lock.h"
#include "base/pause.h"
#include "base/sys.h"
#include "base/types.h"
#include "file/file.h"

#define FROZEN 1u /* bits: */
#define HELD 2u /* bits: so often */

void fm_freeze(struct fm_file *f)
{
	atomic_fetch_or(&f->demote->frozen, FROZEN);
}

void fm_thaw(struct fm_file *f)
{
	atomic_fetch_and(&f->demote->frozen, ~FROZEN);
	fm_futex_wake(&f->demote->frozen, 1 << 30);
}

void fm_file_hold(struct fm_file *f)
{
	atomic_fetch_add(&f->demote->frozen, HELD);
}

void fm_file_release(struct fm_file *f)
{
	atomic_fetch_sub(&f->demote->frozen, HELD);
	fm_futex_wake(&f->demote->frozen, 1 << 30);
}

/* Each publishes first, and looks at the other's word then. */
FM_FAULT bool fm_freeze_enter(struct fm_file *f)
{
	atomic_fetch_add(&f->demote->inside, 1);
	if (!atomic_load(&f->demote->frozen))
		return true;
	fm_freeze_leave(f);
	return false;
}

FM_FAULT void fm_freeze_leave(struct fm_file *f)
{
	atomic_fetch_sub(&f->demote->inside, 1);
}

void fm_freeze_settle(struct fm_file *f)
{
	while (atomic_load(&f->demote->inside))
		fm_sys_sleep_us(FM_PAUSE_US);
}

FM_FAULT void fm_wait_frozen(struct fm_file *f)
{
	uint32_t v;

	while ((v = atomic_load(&f->demote->frozen)) != 0)
		fm_futex_wait(&f->demote->frozen, v, NULL);
}
