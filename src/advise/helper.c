/* SPDX-License-Identifier: MIT */
#include "helper.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "advised.h"
#include "advice_choice.h"
#include "asked.h"
#include "base/creds.h"
#include "base/event.h"
#include "base/left.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine.h"
#include "family.h"
#include "io/io.h"
#include "krange.h"
#include "policy.h"
#include "pull.h"
#include "readahead/readahead.h"
#include "scan.h"
#include "serve/serve.h"
#include "source.h"
#include "streams.h"
#include "tunables.h"
#include "waiters.h"
#include "waits.h"
#include "kernel_monitor.h"

enum state { IDLE, RUNNING, REFUSED, HELD };
static _Atomic int state;
static _Atomic bool stop;
static struct fm_event bell;
static _Atomic(const struct fm_source *) source;
/* The ranges, and what the kernel has been told of them, may differ. */
static _Atomic bool at_work;
static unsigned child = UINT32_MAX; /* of fork, as its family has it */
static struct fm_advised_all ranges;
static struct fm_waits waits;

/* The best first. */
static const struct fm_source *const sources[] = { &fm_source_samples,
						   &fm_source_estimate };
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

const char *fm_helper_source(void)
{
	const struct fm_source *s = atomic_load(&source);

	if (atomic_load(&state) != RUNNING)
		return NULL;
	return s ? s->name : "waits";
}

/* Some file systems count no bytes (FUSE, NFS), and their faults hardly: one
 * that finds its page under way counts as one that did not wait. */
static bool uncounted;

static void note_reads(const struct fm_advised_use *use)
{
	if (!use->major && !use->bytes)
		return;
	uncounted = !use->bytes;
	fm_kernel_monitor_reads();
}

static uint64_t us_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void use_until_now(struct fm_advised_use *u)
{
	struct rusage r;

	*u = (struct fm_advised_use){ .ms = fm_now_ms() };
	if (fm_sys2(SYS_getrusage, RUSAGE_SELF, &r))
		return;
	u->major = (uint64_t)r.ru_majflt;
	u->faults = u->major + (uint64_t)r.ru_minflt;
	u->bytes = (uint64_t)r.ru_inblock << 9;
	u->cpu_ms = (us_of(&r.ru_utime) + us_of(&r.ru_stime)) / 1000;
}

static struct fm_advised_use helper_since(const struct fm_advised_use *now,
				       const struct fm_advised_use *then)
{
	return (struct fm_advised_use){ now->faults - then->faults,
				     now->major - then->major,
				     now->bytes - then->bytes,
				     now->ms - then->ms,
				     now->cpu_ms - then->cpu_ms };
}

static uint64_t streams_us; /* what this thread did not use */

/* How long to sleep so that all of it stays within its share. */
static uint64_t pay(uint64_t begin_ms, uint64_t ms)
{
	uint64_t used_us = fm_cpu_ns() / 1000;
	const uint64_t lasts_ms = fm_now_ms() - begin_ms;

	atomic_store(&fm_advise_counts.cpu_us, used_us);
	used_us -= fm_least(used_us, atomic_load(&fm_streams_counts.cpu_us) -
					     streams_us +
					     fm_tune.helper_credit_ms * 1000);
	if (used_us * fm_tune.helper_share / 1000 > lasts_ms + ms)
		ms = used_us * fm_tune.helper_share / 1000 - lasts_ms;
	return ms;
}

/* It has begun at what costs less if wrong, and nothing is known yet. */
static bool guesses(void)
{
	return ranges.guess && !ranges.opinion.says;
}

/* Once for each range, until its device has told. */
static void ask_devices(void)
{
	for (unsigned i = 0; i < ranges.n && !atomic_load(&stop); i++) {
		struct fm_advised *a = &ranges.v[i];

		if (!a->asked && !fm_device_has_told(a->dev))
			fm_first_read_for(a->dev,
					  (struct fm_fetch_run){ a->start,
								 a->end },
					  fm_readahead_bytes(a->dev));
		a->asked = true;
	}
}

/* Of one whose device is late: each wait counts. */
static bool is_late(void)
{
	for (unsigned i = 0; i < ranges.n; i++)
		if (fm_readahead_late(ranges.v[i].dev) == FM_LATE_MOSTLY)
			return true;
	return false;
}

/* Where it is not told which faults wait any of them may. A thread that waits
 * while nothing is known may wait for nothing else: where that takes long few
 * come in a turn. */
static bool worth(const struct fm_advised_use *u)
{
	return u->bytes >= fm_tune.helper_worth_bytes ||
	       u->major >= (guesses() ? 1 : fm_tune.streams_few) ||
	       (uncounted &&
		u->faults >= (is_late() ? 1 : fm_tune.streams_few)) ||
	       (ranges.guess && u->faults >= fm_tune.advice_single);
}

/* So much more or less is read for a fault than before. */
static bool surprises(const struct fm_advised_use *use)
{
	static uint64_t was;
	const uint64_t is = use->faults ? use->bytes / use->faults : 0;
	bool other = is * 5 > was * 7 || was * 5 > is * 7;

	if (!worth(use))
		return false;
	was = is;
	return other;
}

/* A look that is not paid for yet comes sooner where the program does something
 * else, or the last one has spoken against the advice: a few times a second. */
static void wait_ms(uint64_t ms, uint64_t unpaid_ms)
{
	static uint64_t second;
	static unsigned early;
	struct fm_advised_use last, now, use;

	if (second != fm_now_ms() / 1000)
		early = 0;
	second = fm_now_ms() / 1000;
	if (unpaid_ms > fm_tune.helper_first_ms)
		use_until_now(&last);
	for (; unpaid_ms > fm_tune.helper_first_ms &&
	       early < fm_tune.helper_early && !atomic_load(&stop);
	     unpaid_ms -= fm_tune.helper_first_ms) {
		fm_event_sleep_ms(&bell, &stop, fm_tune.helper_first_ms);
		use_until_now(&now);
		use = helper_since(&now, &last);
		last = now;
		if (!surprises(&use) && !ranges.doubt)
			continue;
		early++;
		return;
	}
	fm_event_sleep_ms(&bell, &stop, ms + unpaid_ms);
}

static void end_source(void)
{
	const struct fm_source *s = atomic_exchange(&source, NULL);

	if (s && s->end)
		s->end();
}

/* The first from number i on that there is; the one before stays if none is. */
static int find_source(unsigned i)
{
	int err = -ENOENT;

	for (; err && i < SOURCES; i++) {
		err = sources[i]->start();
		if (err)
			continue;
		end_source();
		atomic_store(&source, sources[i]);
	}
	return err;
}

/* One that has told nothing in so many looks makes place for the last, where
 * that works. */
static void judge_source(const struct fm_advised_use *use, unsigned part)
{
	static unsigned nothing;

	nothing = part ? 0 : nothing + (use->major >= fm_tune.streams_few);
	if (nothing < fm_tune.helper_nothing ||
	    atomic_load(&source) == sources[SOURCES - 1])
		return;
	nothing = 0;
	find_source(SOURCES - 1);
}

static uint64_t soon_ms(uint64_t ms)
{
	return guesses() ? fm_tune.helper_guess_ms : ms;
}

/* A turn in which something was read. The first begins the source: a program
 * that ends before would wait for it, an event for each thread. */
static int helper_look(const struct fm_advised_use *use)
{
	int err = atomic_load(&source) ? 0 : find_source(0);
	unsigned part;

	if (err)
		return err;
	part = atomic_load(&source)->collect(&ranges, fm_advised_touched);
	fm_count(&fm_advise_counts.looks, 1);
	fm_waits_look(&waits, use, ranges.v[0].dev);
	err = fm_advised_judge(&ranges, use, part);
	judge_source(use, part);
	return err;
}

/* While faults end nobody needs to be told what is waited for. */
static void look_at_waiters(const struct fm_advised_use *use)
{
	static uint64_t due_ms;
	const uint64_t now = fm_now_ms();

	if (use->faults)
		due_ms = now + FM_SECOND_MS;
	if (now < due_ms)
		return;
	due_ms = now + FM_SECOND_MS;
	fm_waiters_look();
}

/* A turn in which too little was read. Long enough of it, and the last look is
 * too old to be compared with. Returns how long to sleep: who begins to read
 * at random waits for as long, 8 MiB a touch. */
static uint64_t quiet_turn(const struct fm_advised_use *use, uint64_t ms,
			   uint64_t *quiet_ms)
{
	fm_advised_quiet(&ranges, use);
	*quiet_ms += use->ms;
	look_at_waiters(use);
	if (*quiet_ms < fm_tune.streams_forget_ms || ranges.guess)
		return soon_ms(ms);
	if (atomic_load(&source))
		atomic_load(&source)->rest();
	return fm_least(2 * ms, fm_least(*quiet_ms / fm_tune.helper_quiet_part,
					 fm_tune.helper_late_ms));
}

/* Its main thread may have ended, and left ours alone. */
static void helper_end_if_alone(uint64_t quiet_ms)
{
	if (quiet_ms >= fm_tune.streams_forget_ms && !fm_active())
		fm_left_end_if_alone();
}

/* As life.h says of `second`, for where the engine does not run. */
static void look_at_creds(void)
{
	static uint64_t due_ms;
	const uint64_t now = fm_now_ms();

	if (now < due_ms)
		return;
	due_ms = now + 1000;
	fm_creds_look();
}

static int helper_turns(void)
{
	struct fm_advised_use looked, last, now, use;
	uint64_t ms = fm_tune.helper_first_ms, begin = fm_now_ms(),
		 quiet_ms = 0;
	bool any;
	int err = 0;

	streams_us = atomic_load(&fm_streams_counts.cpu_us);
	use_until_now(&looked);
	last = looked;
	while (!err && !atomic_load(&stop)) {
		wait_ms(ms, pay(begin, ms) - ms);
		use_until_now(&now);
		use = helper_since(&now, &looked);
		atomic_store(&at_work, true);
		note_reads(&(struct fm_advised_use){
			.major = now.major - last.major,
			.bytes = now.bytes - last.bytes });
		any = fm_advised_update(&ranges);
		err = any ? fm_advised_begin(&ranges) : 0;
		ask_devices();
		if (any && !err && worth(&use)) {
			err = helper_look(&use);
			looked = now;
			ms = soon_ms(fm_tune.helper_first_ms);
			quiet_ms = 0;
		} else {
			use = helper_since(&now, &last);
			ms = quiet_turn(&use, ms, &quiet_ms);
		}
		atomic_store(&at_work, false);
		if (quiet_ms >= fm_tune.streams_forget_ms)
			looked = now;
		helper_end_if_alone(quiet_ms);
		look_at_creds();
		last = now;
	}
	return err;
}

/* With a table of descriptors of its own, for the numbers are the program's. */
static void *helper(void *arg)
{
	static struct fm_kept_files kept;
	int err;

	if (child != UINT32_MAX) /* of fork: it may be about to execute */
		fm_event_sleep_ms(&bell, &stop, fm_tune.helper_first_ms);
	fm_family_child_lives(child);
	fm_thread_begin("fastmap-advise");
	fm_life_beside();
	err = fm_read_keep(&kept) ? 0 : -ENOSYS;
	if (!err) {
		fm_scan_start();
		err = helper_turns();
	}
	/* what has begun as if somebody looked */
	if (err && fm_advised_update(&ranges))
		fm_advised_begin(&ranges);
	fm_advised_leave(&ranges);
	end_source();
	if (err)
		fm_log(FM_LOG_INFO, "what the kernel serves is not advised: "
		       "errno %d", -err);
	atomic_store(&state, err ? REFUSED : IDLE);
	fm_kernel_monitor_untold();
	return NULL;
}

void fm_helper_need(void)
{
	int idle = IDLE;

	if (fm_settings()->mode != FM_MODE_ON || fm_sys_confined() ||
	    !atomic_compare_exchange_strong(&state, &idle, RUNNING))
		return;
	atomic_store(&stop, false);
	fm_first_read_stop(false);
	fm_kernel_monitor_reads();
	fm_family_start();
	if (!fm_thread_create(helper, NULL))
		return;
	atomic_store(&state, REFUSED);
	fm_kernel_monitor_untold();
}

/* The thread does not sleep on, and it begins at the advice of which to be
 * wrong costs less. */
static void helper_mapped(const struct fm_krange *r)
{
	fm_helper_need();
	if (r->end - r->start < fm_tune.helper_wakes ||
	    atomic_load(&state) != RUNNING)
		return;
	if (fm_krange_may_advise(r) && fm_advised_begin_random(r->dev))
		fm_krange_advise(r->id, r->start, r->end, MADV_RANDOM);
	fm_event_raise(&bell);
}

/* Two threads are not begun for what is read in less time than that takes,
 * where nobody has said who is to serve it. */
static bool is_slight(const struct fm_krange *r)
{
	return atomic_load(&state) == IDLE && !fm_life_running() &&
	       r->policy && r->policy->serve == FM_SERVE_AUTO &&
	       r->policy->warm == FM_WARM_AUTO &&
	       !fm_settings()->trace_serve &&
	       fm_cost_too_small(fm_krange_bytes());
}

/* Who looks whether anything is read comes after who knows. */
static void range_is_new(const struct fm_krange *r)
{
	if (is_slight(r))
		return;
	helper_mapped(r);
	fm_kernel_monitor_need();
}

FM_UP(krange_added, range_is_new)

void fm_helper_end(void)
{
	atomic_store(&stop, true);
	fm_first_read_stop(true);
	fm_event_raise(&bell);
	fm_kernel_monitor_end();
	fm_asked_end();
	fm_thread_leaves(&state, RUNNING);
	fm_pull_end(); /* last: that thread begins such */
}

/* The parent's thread is not here. */
void fm_helper_fork_begins(void)
{
	atomic_store(&state, HELD);
	atomic_store(&source, NULL);
	if (atomic_exchange(&at_work, false))
		fm_advised_forget(&ranges);
	fm_advised_forked(&ranges);
	fm_event_reset(&bell);
	fm_kernel_monitor_forked();
}

void fm_helper_fork_ends(void)
{
	atomic_store(&state, IDLE);
	if (!fm_krange_any())
		return;
	if (fm_family_child_starts(&child))
		fm_helper_need();
	else
		fm_advised_leave(&ranges);
}
