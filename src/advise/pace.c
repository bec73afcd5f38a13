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

static void pace_judge(struct fm_pace *p, uint64_t passed, uint64_t now_ms)
{
	const uint64_t pace = pace_of(p, passed, now_ms);

	if (p->state == FM_PACE_SEEN) {
		p->before = pace;
		pace_begin(p, FM_PACE_TRIED, passed, now_ms);
	} else {
		pace_begin(p, pace > p->before + p->before / 4 ?
				      FM_PACE_BETTER : FM_PACE_NO_BETTER,
			   passed, now_ms);
	}
}

/* As many reads of the kernel as tell how long one takes, none in less than a
 * millisecond; or as far and as long as tells something of a fast one. */
static bool pace_is_known(const struct fm_pace *p, uint64_t ahead,
			  uint64_t passed, uint64_t now_ms)
{
	const uint64_t came = passed - p->passed, ms = now_ms - p->at_ms;

	return (passed >= fm_tune.streams_sure &&
		ms >= fm_tune.streams_pace_ms) ||
	       (came >= fm_tune.streams_reads * ahead && came <= ms * ahead);
}

bool fm_pace_helps(struct fm_pace *p, uint64_t ahead, uint64_t passed,
		   uint64_t now_ms)
{
	if (p->state == FM_PACE_NEW || passed < p->passed)
		pace_begin(p, FM_PACE_SEEN, passed, now_ms);
	else if (p->state == FM_PACE_SEEN ?
			 pace_is_known(p, ahead, passed, now_ms) :
			 p->state == FM_PACE_TRIED &&
				 now_ms - p->at_ms >= fm_tune.streams_pace_ms)
		pace_judge(p, passed, now_ms);
	return p->state == FM_PACE_TRIED || p->state == FM_PACE_BETTER;
}
