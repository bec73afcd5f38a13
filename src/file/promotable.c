/* SPDX-License-Identifier: MIT */
#include "promotable.h"

#include "base/life.h"
#include "base/types.h"
#include "engine.h"
#include "file.h"
#include "policy.h"
#include "serve/serve.h"

_Atomic uint32_t fm_promotable;

void fm_file_wait_again(struct fm_file *f)
{
	fm_hold_for(&f->choice->back, fm_now_ms(),
		    fm_settings()->promote_ms);
}

void fm_file_passes(struct fm_file *f, bool yes)
{
	if (yes && !f->demote->passes)
		fm_file_wait_again(f);
	if (yes == f->demote->passes)
		return;
	f->demote->passes = yes;
	if (!yes)
		fm_file_stays_kernels(f);
	atomic_fetch_add(&fm_promotable, yes ? 1 : UINT32_MAX);
}

/* They are the kernel's in the child, for good. */
static void promotable_forked(void)
{
	atomic_store(&fm_promotable, 0);
}

FM_LIFE(promotable, .level = FM_LIFE_MEMORY, .forked = promotable_forked)
