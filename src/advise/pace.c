/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include "tunables.h"

#define MOST_VAIN 6 /* size: doublings of what is waited for */

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

	p->vain += !better && p->vain < MOST_VAIN;
	pace_begin(p, better ? FM_PACE_BETTER : FM_PACE_NO_BETTER, passed,
		   now_ms);
}

/* As many reads of the kernel as tell how long one takes, none in less than a
 * millisecond. */
static bool pace_waits(const struct fm_pace *p, uint64_t ahead,
		       uint64_t passed, uint64_t now_ms)
{
	const uint64_t came = passed - p->passed, ms = now_ms - p->at_ms;

	return came >= ((uint64_t)fm_tune.streams_reads << p->vain) * ahead &&
	       came <= ms * ahead;
}

/* Or as far and as long as tells something of a fast one. */
static bool pace_is_known(const struct fm_pace *p, uint64_t ahead,
			  uint64_t passed, uint64_t now_ms)
{
	return (passed >= fm_tune.streams_sure &&
		now_ms - p->at_ms >= fm_tune.streams_pace_ms) ||
	       pace_waits(p, ahead, passed, now_ms);
}

static void pace_is_new(struct fm_pace *p, const struct fm_pace_device *d,
			uint64_t passed, uint64_t now_ms)
{
	*p = (struct fm_pace){ .before = d->before };
	pace_begin(p, d->before ? FM_PACE_BETTER : FM_PACE_SEEN, passed,
		   now_ms);
}

uint64_t fm_pace_late_ms(const struct fm_pace *p, uint64_t ahead)
{
	const bool known = p->state != FM_PACE_NEW && p->state != FM_PACE_SEEN;

	return known ? ahead / (p->before + 1) : 0;
}

bool fm_pace_helps(struct fm_pace *p, const struct fm_pace_device *d,
		   uint64_t passed, uint64_t now_ms)
{
	if (p->state == FM_PACE_NEW || passed < p->passed)
		pace_is_new(p, d, passed, now_ms);
	else if ((p->state == FM_PACE_SEEN &&
		  pace_is_known(p, d->ahead, passed, now_ms)) ||
		 (p->state == FM_PACE_NO_BETTER && d->far &&
		  pace_waits(p, d->ahead, passed, now_ms)))
		pace_try(p, passed, now_ms);
	else if (p->state == FM_PACE_TRIED &&
		 now_ms - p->at_ms >= fm_tune.streams_pace_ms)
		pace_judge(p, passed, now_ms);
	return p->state == FM_PACE_TRIED || p->state == FM_PACE_BETTER;
}
