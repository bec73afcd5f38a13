/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "fault/fault.h"
#include "file/file.h"
#include "lost.h"
#include "missing.h"
#include "policy.h"
#include "trial_rule.h"
#include "vm/vm.h"

#define SHARE 8 /* of what is lost: less is not the file's fault */
#define SOME 32 /* major faults: with less it need not be known what is there */

static struct fm_trial trial;
static _Atomic bool lost;
static _Atomic uint64_t begun, kept;
static _Atomic uint32_t in_engine, in_kernel; /* lost time, when compared */

bool fm_trial_has(const struct fm_file *f)
{
	const unsigned why = atomic_load(&f->st.demote_why);

	return fm_kernel_serves(f) &&
	       (why == FM_WHY_TRIED || why == FM_WHY_MEASURED);
}

bool fm_trial_lost(void)
{
	return atomic_load(&lost);
}

/* With the engine nothing but the clock is asked, mostly. */
static void measure(struct fm_trial_totals *ret, bool loops)
{
	struct fm_lost_waits w = { 0 };

	if (trial.state != FM_TRIAL_ENGINE || loops)
		w = fm_lost_waits();
	ret->ms = fm_now_ms();
	ret->spent_ns = fm_latency_spent(&ret->faults);
	ret->major = w.major;
	ret->read_bytes = w.read_bytes;
	ret->loads = 0;
	ret->missing = 0;
}

/* What each has lost since the last look. Returns what all have. */
static uint64_t look_at_files(uint64_t *ret_loads)
{
	struct fm_file *f;
	uint64_t sum = 0, old;

	fm_space_lock(&old);
	fm_for_each_file(f, id) {
		const uint64_t spent = atomic_load(&f->st.spent_ns);

		f->choice.spent_lately_ns = spent - f->choice.spent_seen_ns;
		f->choice.spent_seen_ns = spent;
		sum += f->choice.spent_lately_ns;
		*ret_loads += atomic_load(&f->st.loads);
	}
	fm_space_unlock(&old);
	return sum;
}

/* Only what can come back, and is a cause of it: of all that is lost no less
 * than `least`, in ns. */
static bool may_be_tried(struct fm_file *f, uint64_t least)
{
	return atomic_load(&f->maps) && !fm_kernel_serves(f) &&
	       f->choice.spent_lately_ns >= least &&
	       f->policy->serve == FM_SERVE_AUTO &&
	       fm_demote_may_return(f, FM_WHY_TRIED);
}

static unsigned tried(enum fm_server_reason now)
{
	struct fm_file *f;
	unsigned n = 0;

	fm_for_each_file(f, id) {
		if (!fm_trial_has(f) || !f->demote.passes)
			continue;
		n++;
		if (now)
			atomic_store(&f->st.demote_why, (uint8_t)now);
	}
	return n;
}

static unsigned begin(uint64_t lost_ns)
{
	unsigned n;
	uint64_t old;

	atomic_store(&lost, false);
	fm_space_lock(&old);
	fm_demote_where(may_be_tried, lost_ns / SHARE, FM_WHY_TRIED);
	n = tried(FM_WHY_NONE);
	fm_space_unlock(&old);
	if (n)
		atomic_fetch_add(&begun, 1);
	else
		fm_trial_refused(&trial, fm_now_ms());
	return n;
}

static void keep(void)
{
	uint64_t old;

	fm_space_lock(&old);
	tried(FM_WHY_MEASURED);
	fm_space_unlock(&old);
	atomic_fetch_add(&kept, 1);
}

/* They may come back at once. */
static void end(void)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id)
		if (fm_trial_has(f))
			f->demote.not_before_ms = 0;
	fm_space_unlock(&old);
	atomic_store(&lost, true);
}

static void act_on(enum fm_trial_act act, uint64_t lost_ns)
{
	if (act == FM_TRIAL_BEGIN && !begin(lost_ns))
		return;
	if (act == FM_TRIAL_KEEP)
		keep();
	if (act == FM_TRIAL_END)
		end();
	if (act == FM_TRIAL_NOTHING)
		return;
	atomic_store(&in_engine, trial.engine);
	atomic_store(&in_kernel, trial.kernel);
	fm_log(FM_LOG_INFO, "%s: of a thread's time %u thousandths were lost "
	       "in faults with the engine (%lu accesses a second), %u with "
	       "the kernel; of what is mapped %u are not in memory",
	       act == FM_TRIAL_BEGIN ? "the kernel is tried" :
	       act == FM_TRIAL_KEEP ? "the kernel goes on" :
				      "the engine goes on",
	       trial.engine, (unsigned long)trial.reached, trial.kernel,
	       trial.last.missing);
}

/* Of the files that are on trial, or would be. */
static uint32_t missing_now(uint64_t least)
{
	struct fm_file *f;
	uint64_t old;

	fm_missing_begin();
	fm_space_lock(&old);
	fm_for_each_file(f, id)
		if (trial.state == FM_TRIAL_ENGINE ?
			    may_be_tried(f, least) :
			    fm_trial_has(f) && f->demote.passes)
			fm_missing_add(f);
	fm_space_unlock(&old);
	return fm_missing_look();
}

/* Nothing is left that could come back. */
static void look_whether_any(void)
{
	uint64_t old;
	unsigned n;

	if (trial.state == FM_TRIAL_ENGINE)
		return;
	fm_space_lock(&old);
	n = tried(FM_WHY_NONE);
	fm_space_unlock(&old);
	if (!n)
		trial.state = FM_TRIAL_ENGINE;
}

void fm_trial_second(void)
{
	const bool loops = fm_mem_monitor_loops();
	struct fm_trial_totals now;
	uint64_t lost_ns;

	if (!fm_settings()->take_back_ms)
		return;
	look_whether_any();
	measure(&now, loops);
	lost_ns = look_at_files(&now.loads);
	if (trial.state == FM_TRIAL_ENGINE ?
		    loops : now.major > trial.last.major + SOME)
		now.missing = missing_now(lost_ns / SHARE);
	act_on(fm_trial_step(&trial, &now, loops, fm_mem_monitor_room()),
	       lost_ns);
}

void fm_trial_counts(struct fm_trial_counts *ret)
{
	ret->begun = atomic_load(&begun);
	ret->kept = atomic_load(&kept);
	ret->engine = atomic_load(&in_engine);
	ret->kernel = atomic_load(&in_kernel);
}

/* What is the kernel's in a child of fork stays so. */
static void forked(void)
{
	trial = (struct fm_trial){ 0 };
	atomic_store(&lost, false);
	atomic_store(&begun, 0);
	atomic_store(&kept, 0);
}

FM_LIFE(trial, .level = FM_LIFE_RUNNING, .forked = forked)
