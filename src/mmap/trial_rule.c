/* SPDX-License-Identifier: MIT */
#include "trial_rule.h"

#include "lost.h"

#define HOPEFUL 2u      /* seconds in a row */
#define BAD 3u
#define GOOD 2u
#define LEARN_MS 1500u  /* until the kernel's advice has been found */
#define SETTLE_MS 2000u /* a trial takes so long, and what is to be read */
#define MOST_SETTLE_MS ((uint64_t)20000)
#define MOST_FAILED 3u
#define CALM_MS (10 * FM_LOST_MINUTE_MS)

static uint32_t lost_in_engine(const struct fm_trial_totals *a,
			       const struct fm_trial_totals *b)
{
	return fm_lost_in_engine(b->spent_ns - a->spent_ns, b->ms - a->ms);
}

static uint32_t lost_in_kernel(const struct fm_trial *t,
			       const struct fm_trial_totals *a,
			       const struct fm_trial_totals *b)
{
	return fm_lost_in_kernel(b->major - a->major, t->fault_ns,
				 b->read_bytes - a->read_bytes,
				 b->ms - a->ms);
}

/* Accesses a second, as far as their waits tell. */
static uint64_t reached(uint64_t waits, uint64_t ms, uint32_t missing)
{
	return ms && missing ? waits * 1000 / ms * 1000 / missing : 0;
}

static uint64_t reached_by_kernel(const struct fm_trial_totals *a,
				  const struct fm_trial_totals *b)
{
	return reached(b->major - a->major, b->ms - a->ms, b->missing);
}

static enum fm_trial_act fail(struct fm_trial *t, uint64_t now_ms)
{
	t->state = FM_TRIAL_ENGINE;
	t->failed++;
	t->hopeful = 0;
	t->not_before_ms = now_ms + fm_lost_pause_ms(t->failed);
	return FM_TRIAL_END;
}

void fm_trial_refused(struct fm_trial *t, uint64_t now_ms)
{
	t->failed = MOST_FAILED;
	fail(t, now_ms);
}

static enum fm_trial_act in_engine(struct fm_trial *t,
				   const struct fm_trial_totals *now,
				   bool loops, uint64_t room)
{
	const uint64_t faults = now->faults - t->last.faults;
	const uint64_t spent = now->spent_ns - t->last.spent_ns;

	t->engine = lost_in_engine(&t->last, now);
	t->reached = reached(now->loads - t->last.loads,
			     now->ms - t->last.ms, now->missing);
	t->hopeful = loops && t->engine >= FM_LOST_MUCH ? t->hopeful + 1 : 0;
	if (t->hopeful)
		t->hoped_ms = now->ms;
	else if (now->ms - t->hoped_ms > CALM_MS)
		t->failed = 0;
	if (t->hopeful < HOPEFUL || now->ms < t->not_before_ms)
		return FM_TRIAL_NOTHING;
	t->fault_ns = faults ? spent / faults : 0;
	if (t->fault_ns < FM_LOST_FAULT_NS)
		t->fault_ns = FM_LOST_FAULT_NS;
	t->room = room;
	t->begun_ms = now->ms;
	t->begun_bytes = now->read_bytes;
	t->good = 0;
	t->state = FM_TRIAL_RUNS;
	return FM_TRIAL_BEGIN;
}

/* More than fits has been read: it does not stay. */
static bool reads_again(const struct fm_trial *t,
			const struct fm_trial_totals *now)
{
	return now->read_bytes - t->begun_bytes > 2 * t->room;
}

/* Where it is not known how far the engine got nothing is further. */
static bool is_further(const struct fm_trial *t,
		       const struct fm_trial_totals *now)
{
	return t->reached && reached_by_kernel(&t->last, now) >
				     t->reached + t->reached / 8;
}

static enum fm_trial_act keep(struct fm_trial *t)
{
	t->state = FM_TRIAL_KERNEL;
	t->bad = 0;
	t->failed = 0;
	return FM_TRIAL_KEEP;
}

static enum fm_trial_act in_trial(struct fm_trial *t,
				  const struct fm_trial_totals *now)
{
	uint64_t most = SETTLE_MS + t->room / FM_LOST_BYTES_A_MS;

	if (most > MOST_SETTLE_MS)
		most = MOST_SETTLE_MS;
	t->kernel = lost_in_kernel(t, &t->last, now);
	t->good = is_further(t, now) ? t->good + 1 : 0;
	if (t->kernel < t->engine / 4 || t->good >= GOOD)
		return keep(t);
	if (now->ms - t->begun_ms < LEARN_MS)
		t->begun_bytes = now->read_bytes;
	return !t->good && (reads_again(t, now) ||
			    now->ms - t->begun_ms > most) ?
		       fail(t, now->ms) : FM_TRIAL_NOTHING;
}

static enum fm_trial_act in_kernel(struct fm_trial *t,
				   const struct fm_trial_totals *now)
{
	const bool as_far = t->reached &&
			    reached_by_kernel(&t->last, now) >= t->reached;

	t->kernel = lost_in_kernel(t, &t->last, now);
	t->bad = t->kernel > t->engine / 2 && !as_far ? t->bad + 1 : 0;
	return t->bad >= BAD ? fail(t, now->ms) : FM_TRIAL_NOTHING;
}

enum fm_trial_act fm_trial_step(struct fm_trial *t,
				const struct fm_trial_totals *now, bool loops,
				uint64_t room)
{
	enum fm_trial_act act = FM_TRIAL_NOTHING;

	if (!t->last.ms)
		; /* nothing to compare with */
	else if (t->state == FM_TRIAL_ENGINE)
		act = in_engine(t, now, loops, room);
	else if (t->state == FM_TRIAL_RUNS)
		act = in_trial(t, now);
	else
		act = in_kernel(t, now);
	t->last = *now;
	return act;
}
