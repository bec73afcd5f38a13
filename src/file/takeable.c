/* SPDX-License-Identifier: MIT */
#include "takeable.h"

#include "base/life.h"
#include "base/types.h"
#include "engine.h"
#include "file.h"
#include "policy.h"
#include "serve/serve.h"

_Atomic uint32_t fm_takeable;

void fm_file_wait_again(struct fm_file *f)
{
	fm_hold_for(&f->choice->back, fm_now_ms(),
		    fm_settings()->take_back_ms);
}

void fm_file_passes(struct fm_file *f, bool yes)
{
	if (yes && !f->demote.passes)
		fm_file_wait_again(f);
	if (yes == f->demote.passes)
		return;
	f->demote.passes = yes;
	if (!yes)
		fm_file_stays_kernels(f);
	atomic_fetch_add(&fm_takeable, yes ? 1 : UINT32_MAX);
}

/* They are the kernel's in the child, for good. */
static void takeable_forked(void)
{
	atomic_store(&fm_takeable, 0);
}

FM_LIFE(takeable, .level = FM_LIFE_MEMORY, .forked = takeable_forked)
