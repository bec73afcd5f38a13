/* SPDX-License-Identifier: MIT */
#include "written.h"

#include "cache/cache.h"
#include "file/file.h"
#include "policy.h"
#include "serve/serve.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

/* Twice, since the page cache has it beside us until we let go. */
static bool written_fits(struct fm_file *f)
{
	return (uint64_t)atomic_load(&f->size) < fm_mem_monitor_all() / 2;
}

/* Only what can come back. */
static bool may_be_handed(struct fm_file *f)
{
	return fm_may_change(f) &&
	       f->policy->warm != FM_WARM_ENGINE && !fm_kernel_serves(f) &&
	       !fm_mem_monitor_short() &&
	       fm_demote_may_return(f, FM_WHY_WRITTEN) && written_fits(f);
}

static bool written_ask(struct fm_file *f)
{
	bool yes;

	FM_HOLD_SPACE(); /* of its mappings, which are looked at */
	yes = may_be_handed(f);
	if (yes)
		fm_demote_ask(f, FM_WHY_WRITTEN);
	return yes;
}

void fm_written_note(struct fm_file *f, uint64_t ns)
{
	const uint64_t now = atomic_load(&f->calls->changed_ms);

	fm_lately_add(&f->calls->followed, now, ns);
	if (fm_lately_pays(&f->calls->followed, now) && written_ask(f))
		fm_wb_kick();
}
