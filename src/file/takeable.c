/* SPDX-License-Identifier: MIT */
#include "takeable.h"

#include "base/life.h"
#include "base/types.h"
#include "engine.h"
#include "file.h"
#include "policy.h"
#include "tunables.h"

_Atomic uint32_t fm_takeable;

/* Each time it lasts longer, unless it has gone well for long. */
static void set_wait(struct fm_file *f)
{
	const uint32_t first = fm_settings()->take_back_ms;
	uint64_t now = fm_now_ms();
	uint32_t wait = f->demote.wait_ms;

	if (!wait || now > f->demote.not_before_ms + fm_tune.takeable_most_ms)
		wait = first;
	f->demote.not_before_ms = now + wait;
	wait *= 2;
	f->demote.wait_ms = wait < fm_tune.takeable_most_ms ||
					    first > fm_tune.takeable_most_ms ?
				    wait :
				    fm_tune.takeable_most_ms;
}

void fm_file_wait_again(struct fm_file *f)
{
	set_wait(f);
}

void fm_file_passes(struct fm_file *f, bool yes)
{
	if (yes && !f->demote.passes)
		set_wait(f);
	if (yes == f->demote.passes)
		return;
	f->demote.passes = yes;
	if (!yes)
		fm_file_stays_kernels(f);
	atomic_fetch_add(&fm_takeable, yes ? 1 : UINT32_MAX);
}

/* They are the kernel's in the child, for good. */
static void forked(void)
{
	atomic_store(&fm_takeable, 0);
}

FM_LIFE(takeable, .level = FM_LIFE_MEMORY, .forked = forked)
