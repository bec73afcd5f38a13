/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include "base/left.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "file/file.h"
#include "guardian.h"
#include "io/io.h"
#include "map/map.h"
#include "policy.h"
#include "tunables.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

/* To demote it would copy pages that are the program's own, or write what
 * nobody will read, and may be much. */
static bool keeps_own(struct fm_file *f)
{
	struct fm_map *m;

	fm_for_each_map(m, f)
		if (!m->shared && atomic_load(&m->modes->own))
			return true;
	return f->ephemeral;
}

static bool ending_may_demote(struct fm_file *f, uint64_t only_stored_to)
{
	return !keeps_own(f) && (!only_stored_to || fm_may_be_stored_to(f));
}

static bool are_few(uint64_t only_stored_to)
{
	struct fm_file *f;
	unsigned n = 0;

	fm_for_each_file(f, id) n +=
		atomic_load(&f->maps) && ending_may_demote(f, only_stored_to);
	return n <= fm_tune.ending_files;
}

/* What is stored until the process is stopped is in the file, as natively: by a
 * thread, a signal handler, or libc, which writes its streams out after all
 * exit handlers. What is only read is given up with the memory: to demote it
 * took longer than many a program does. Not before exec, which would leave a
 * guardian to the next program. */
static void ending_demote(bool exec)
{
	const bool all = exec && are_few(false);

	if (all || are_few(true))
		fm_demote_where(ending_may_demote, !all,
				exec ? FM_WHY_EXEC : FM_WHY_ENDS);
}

static bool any_served(bool that_may_be_stored_to)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (atomic_load(&f->maps) &&
		    (!that_may_be_stored_to || fm_may_be_stored_to(f)))
			return true;
	return false;
}

/* The guardian is to see that another program has taken the place of this
 * one, or what that leaves of it. */
static bool guardian_stays(void)
{
	return fm_settings()->stats || atomic_load(&fm_life_after_exec) ||
	       any_served(false);
}

/* Nothing can be stored any more that a guardian would have to write. Files
 * that are mapped still are given up with the memory. */
static void end_guardian(bool exec)
{
	if (!any_served(false)) {
		fm_rings_settle();
		fm_rings_release(fm_file_top());
	}
	if (exec && guardian_stays())
		fm_guardian_disown();
	else
		fm_guardian_end();
}

void fm_ending(bool exec)
{
	/* the guardian does without what would kill us */
	if (fm_sys_confined())
		return;
	FM_HOLD_SPACE();
	atomic_store(&fm_demote_ends, true);
	ending_demote(exec);
	if (!any_served(true))
		end_guardian(exec);
	else if (exec)
		fm_guardian_disown();
	if (exec)
		atomic_store(&fm_demote_ends, false);
}

/* Without a guardian for as long as something comes of it. */
static void wait_until_clean(void)
{
	int64_t dirty = atomic_load(&fm_dirty_total), was = dirty;
	uint64_t until = fm_now_ms() + fm_tune.patience_ms;

	while (dirty > 0 && fm_now_ms() < until) {
		fm_thread_sleep_ms(2);
		dirty = atomic_load(&fm_dirty_total);
		if (dirty < was && !fm_backup_pid())
			until = fm_now_ms() + fm_tune.patience_ms;
		was = dirty;
	}
}

/* Who waits for this process finds in the files what it has stored. Another
 * thread writes it, for this one has none of the descriptors. */
static void ending_end_if_alone(void)
{
	int status;

	if (!fm_left_alone(&status))
		return;
	atomic_store(&fm_demote_ends, true);
	fm_demote_ask_shared(FM_WHY_ENDS);
	fm_wb_kick();
	wait_until_clean();
	fm_sys1(SYS_exit_group, status);
}

FM_UP(each_second, ending_end_if_alone)

static void ending_stop(void)
{
	if (fm_life_is_owner())
		fm_ending(false);
}

FM_LIFE(ending, .level = FM_LIFE_GATE, .stop = ending_stop)
