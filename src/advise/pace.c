/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include "tunables.h"

static void pace_begin(struct fm_pace *p, enum fm_pace_state state,
		       uint64_t passed, uint64_t now_ms)
{
	p->state = state;
	p->passed = passed;
	p->at_ms = now_ms;
}

/* Of this state, which has lasted long enough. */
static uint64_t pace_of(const struct fm_pace *p, uint64_t passed,
			uint64_t now_ms)
{
	return (passed - p->passed) / (now_ms - p->at_ms);
}

static void pace_try(struct fm_pace *p, uint64_t passed, uint64_t now_ms)
{
	p->before = pace_of(p, passed, now_ms);
	pace_begin(p, FM_PACE_TRIED, passed, now_ms);
}

static void pace_judge(struct fm_pace *p, uint64_t passed, uint64_t now_ms)
{
	const bool better = pace_of(p, passed, now_ms) >
			    p->before + p->before / 4;

	pace_begin(p, better ? FM_PACE_BETTER : FM_PACE_NO_BETTER, passed,
		   now_ms);
}

static bool pace_lasts(const struct fm_pace *p, uint64_t now_ms)
{
	return now_ms - p->at_ms >= fm_tune.streams_pace_ms;
}

bool fm_pace_helps(struct fm_pace *p, uint64_t passed, uint64_t now_ms)
{
	if (p->state == FM_PACE_NEW || passed < p->passed)
		pace_begin(p, FM_PACE_SEEN, passed, now_ms);
	else if (p->state == FM_PACE_SEEN && passed >= fm_tune.streams_sure &&
		 pace_lasts(p, now_ms))
		pace_try(p, passed, now_ms);
	else if (p->state == FM_PACE_TRIED && pace_lasts(p, now_ms))
		pace_judge(p, passed, now_ms);
	return p->state == FM_PACE_TRIED || p->state == FM_PACE_BETTER;
}
