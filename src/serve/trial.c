/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include "tunables.h"

const struct fm_trial_kind fm_trial_of_kernel = {
	.better = fm_rate_kernel_better,
	.worse = fm_rate_kernel_worse,
};

const struct fm_trial_kind fm_trial_of_engine = {
	.of_engine = true,
	.better = fm_rate_engine_better,
};

static enum fm_trial_act trial_fail(struct fm_trial *t, uint64_t now_ms)
{
	t->state = FM_TRIAL_NONE;
	t->hoped = 0;
	fm_hold_fail(&t->hold, now_ms);
	return FM_TRIAL_END;
}

void fm_trial_refused(struct fm_trial *t, uint64_t now_ms)
{
	trial_fail(t, now_ms);
	fm_hold_most(&t->hold, now_ms);
}

void fm_trial_begun(struct fm_trial *t, const struct fm_trial_second *now,
		    const struct fm_rate *before)
{
	t->before = *before;
	t->begun_ms = now->ms;
	t->begun_bytes = now->read_bytes;
	t->room = now->room;
	t->good = t->bad = 0;
	t->state = FM_TRIAL_RUNS;
}

/* That so many seconds of the least that is worth a change would save. */
static uint32_t hope_enough(void)
{
	return fm_tune.serve_row * fm_tune.serve_lost_much;
}

static enum fm_trial_act trial_wait_for_one(const struct fm_trial_kind *k,
					    struct fm_trial *t,
					    const struct fm_trial_second *now)
{
	const uint32_t lost = k->of_engine ? now->rate.kernel :
					     now->rate.engine;
	const bool worth = now->hope && lost >= fm_tune.serve_lost_much;

	t->hoped = worth ? t->hoped + now->hope : 0;
	if (t->hoped < hope_enough() || fm_holds(&t->hold, now->ms))
		return FM_TRIAL_NOTHING;
	fm_trial_begun(t, now, &now->rate);
	return FM_TRIAL_BEGIN;
}

/* More than fits has been read: it does not stay. */
static bool reads_again(const struct fm_trial *t,
			const struct fm_trial_second *now)
{
	return now->read_bytes - t->begun_bytes > 2 * t->room;
}

static bool trial_is_over(const struct fm_trial *t,
			  const struct fm_trial_second *now)
{
	const uint64_t fill = fm_tune.serve_settle_ms +
			      t->room / fm_tune.serve_filled_a_ms;
	const uint64_t most = fill < fm_tune.serve_settle_most_ms ?
				      fill : fm_tune.serve_settle_most_ms;

	return now->ms - t->begun_ms > most || reads_again(t, now);
}

static enum fm_trial_act on_trial(const struct fm_trial_kind *k,
				  struct fm_trial *t,
				  const struct fm_trial_second *now)
{
	const bool learns = now->ms - t->begun_ms < fm_tune.serve_settle_ms;

	t->good = k->better(&t->before, &now->rate) ? t->good + 1 : 0;
	if (t->good >= fm_tune.serve_row && !learns) {
		t->state = FM_TRIAL_KEPT;
		t->hold.failed = 0;
		return FM_TRIAL_KEEP;
	}
	if (learns)
		t->begun_bytes = now->read_bytes;
	return !t->good && trial_is_over(t, now) ? trial_fail(t, now->ms) :
					     FM_TRIAL_NOTHING;
}

static enum fm_trial_act has_kept(const struct fm_trial_kind *k,
				  struct fm_trial *t,
				  const struct fm_trial_second *now)
{
	if (!k->worse)
		return FM_TRIAL_NOTHING;
	t->bad = k->worse(&t->before, &now->rate) ? t->bad + 1 : 0;
	return t->bad >= fm_tune.serve_row ? trial_fail(t, now->ms) :
					     FM_TRIAL_NOTHING;
}

enum fm_trial_act fm_trial_step(const struct fm_trial_kind *k,
				struct fm_trial *t,
				const struct fm_trial_second *now)
{
	switch (t->state) {
	case FM_TRIAL_RUNS:
		return on_trial(k, t, now);
	case FM_TRIAL_KEPT:
		return has_kept(k, t, now);
	default:
		return trial_wait_for_one(k, t, now);
	}
}

bool fm_trial_to_blame(uint64_t lost, uint64_t most)
{
	return lost && lost >= most / fm_tune.judge_share;
}
