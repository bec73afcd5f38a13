/* SPDX-License-Identifier: MIT */
/*
 * demote_drain.c - wait for what is in flight of a file that is to be handed
 * over, while others have the space lock (fault/drain.h).
 *
 * Faults are held up first; then the lock is let go until nothing is in flight,
 * and taken again. What may happen in between:
 *
 *  - A fault that saw the file free has its page locked, or will look at the
 *    hold once it has: it is waited for, or gives up. Its group was touched
 *    before its lock was asked for, so the look here meets it.
 *  - A mapping comes, goes, moves, is cut, protected: the mappings are listed
 *    after the lock has been taken again. All may have gone: nothing is left
 *    to do.
 *  - Another thread hands the same file over: both hold it, the first to have
 *    the lock does it, the other finds the kernel as the server.
 *  - The other thread gives up, or thaws: holds are counted, ours stays.
 *  - A fork: it lists what it has to do again after each such wait. The child
 *    has neither the waiter nor who is waited for.
 *  - A store to what is dirty, and so not protected: it is seen by the
 *    write-back under the lock, as one during that always was.
 *
 * Where a caller is hiding memory (fm_space_may_yield) there is no such wait.
 */
#include "demote_drain.h"

#include <errno.h>

#include "base/epoch.h"
#include "base/sys.h"
#include "demote_pagecache.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "tunables.h"
#include "writeback/writeback.h"

static bool all_lands(struct fm_file *f, uint64_t ms)
{
	return fm_file_lands(f, 0, FM_MAX_FILE_PAGES, true, ms);
}

/* What could not be handed over once, perhaps since it cannot be written, is
 * not tried here: who asks again after each such wait would never end. */
static bool is_to_be_written(struct fm_file *f)
{
	return !atomic_load(&f->demote->stays_since_ms) &&
	       fm_dirty_next(f, 0, FM_MAX_FILE_PAGES) < FM_MAX_FILE_PAGES;
}

/* An error is found again, and said, by who writes under the lock. */
static void drain_write(struct fm_file *f)
{
	if (fm_store_of(f)->direct && fm_store_of(f)->keeps)
		fm_demote_write_pagecache(f);
	fm_wb_range(f, 0, FM_MAX_FILE_PAGES, true);
}

/* Without the space lock; looked at again with it. Returns whether all has been
 * written that was stored before. */
static bool drain_outside(struct fm_file *f)
{
	bool landed;
	unsigned e;

	fm_space_yield();
	e = fm_epoch_enter();
	landed = all_lands(f, fm_tune.moment_ms);
	if (landed && is_to_be_written(f))
		drain_write(f);
	fm_epoch_leave(e);
	fm_space_resume();
	return landed;
}

/* What asks for less time can come later; who ends, or executes another
 * program, has a guardian that writes. */
static uint64_t drain_most_ms(enum fm_server_reason why)
{
	if (!(fm_server_reason_veto(why) & ~(uint32_t)FM_VETO_MEMORY))
		return fm_tune.moment_ms;
	return why == FM_WHY_ENDS || why == FM_WHY_EXEC ? fm_tune.patience_ms :
							  UINT64_MAX;
}

static bool is_engines_still(struct fm_file *f)
{
	return atomic_load(&f->maps) && !fm_kernel_serves(f);
}

int fm_demote_drain(struct fm_file *f, enum fm_server_reason why)
{
	const uint64_t begin = fm_now_ms(), most = drain_most_ms(why);
	bool written = false;

	fm_file_hold(f);
	while (fm_space_may_yield() && is_engines_still(f)) {
		if (all_lands(f, fm_tune.budget_soon_ms) &&
		    (written || !is_to_be_written(f)))
			break;
		if (fm_now_ms() - begin >= most) {
			fm_file_release(f);
			return -EAGAIN;
		}
		written = drain_outside(f);
	}
	return 0;
}
