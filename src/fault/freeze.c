/* SPDX-License-Identifier: MIT */
#include "freeze.h"

#include "base/lock.h"
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

FM_FAULT void fm_wait_frozen(struct fm_file *f)
{
	uint32_t v;

	while ((v = atomic_load(&f->demote->frozen)) != 0)
		fm_futex_wait(&f->demote->frozen, v, NULL);
}
