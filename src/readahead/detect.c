/* SPDX-License-Identifier: MIT */
#include "detect.h"

#include "tunables.h"

FM_FAULT uint64_t fm_detect_earned(uint64_t passed, uint64_t busy)
{
	const uint64_t n = 2 * passed;

	return n < busy ? n : busy + (n - busy) / 16;
}

/* ---- which there are --------------------------------------------------- */

/* Does e lie on the way of s: at a step of it or within what it has read
 * ahead? */
static FM_FAULT bool belongs(const struct fm_stream *s, const struct fm_seen *e,
			     int64_t near)
{
	const int64_t lo = s->step > 0 ? s->pos : s->edge;
	const int64_t hi = s->step > 0 ? s->edge : s->pos;

	if (fm_stream_strided(s))
		return e->i >= lo && e->i <= hi &&
		       (e->i - s->pos) % s->step == 0;
	return e->hi + near > lo && e->lo <= hi + near;
}

/* Others may be seen in between, the more so the longer its chunks are. */
static FM_FAULT bool detect_is_over(const struct fm_stream_set *st,
				    const struct fm_stream *s,
				    const struct fm_sight *how)
{
	return st->clock - s->used > how->patience + how->each * s->passed;
}

FM_FAULT void fm_detect_age(struct fm_stream_set *st,
			    const struct fm_sight *how)
{
	for (int k = 0; k < FM_STREAMS; k++)
		if (st->s[k].live && detect_is_over(st, &st->s[k], how))
			st->s[k].live = false;
}

/* Does one that has proven itself go through page i in order, of late? Then all
 * that lies between steps there is read as well, and they are none: so begin
 * the parts of what threads share out. */
static FM_FAULT bool is_in_order(const struct fm_stream_set *st, int64_t i)
{
	for (int k = 0; k < FM_STREAMS; k++) {
		const struct fm_stream *s = &st->s[k];
		const int64_t back = s->step * (int64_t)s->passed;

		if (fm_stream_lately(st, s) && !fm_stream_strided(s) &&
		    s->passed > fm_tune.ahead_proven &&
		    (s->step > 0 ? i >= s->pos - back && i < s->edge :
				   i <= s->pos - back && i > s->edge))
			return true;
	}
	return false;
}

static FM_FAULT bool is_the_way_of(struct fm_stream_set *st,
				   struct fm_stream *s,
				   const struct fm_seen *e, int64_t near)
{
	if (!s->live || !belongs(s, e, near))
		return false;
	if (fm_stream_strided(s) && is_in_order(st, s->pos))
		s->live = false;
	return s->live;
}

FM_FAULT struct fm_stream *fm_detect_find(struct fm_stream_set *st,
					  const struct fm_seen *e,
					  const struct fm_sight *how)
{
	fm_detect_age(st, how);
	for (int k = 0; k < FM_STREAMS; k++)
		if (is_the_way_of(st, &st->s[k], e, how->near))
			return &st->s[k];
	return NULL;
}

/* ---- signs of a new one ------------------------------------------------- */

static const int64_t step_most = 4096; /* pages */

/* What was seen lately not far from there: of all, and then of the same
 * reader; the last ones first. */
struct sights {
	const struct fm_seen *v[FM_RECENT + FM_TRAIL];
	int n;
	int64_t far;
};

static FM_FAULT struct fm_trail *trail_of(struct fm_stream_set *st,
					  uint32_t who)
{
	return &st->trail[(who * 0x9e3779b1u) >> 16 & (FM_TRAILS - 1)];
}

FM_FAULT bool fm_detect_lately(const struct fm_stream_set *st,
			       const struct fm_seen *r,
			       const struct fm_sight *how)
{
	return r->lo != FM_NEVER &&
	       (uint32_t)st->clock - r->at <= how->patience;
}

static FM_FAULT bool is_far(const struct sights *l, const struct fm_seen *r,
			    const struct fm_seen *e)
{
	return e->lo - r->hi > l->far || r->lo - e->hi > l->far;
}

/* The trail is asked only if others have been seen between. */
static FM_FAULT void look_back(struct fm_stream_set *st,
			       const struct fm_seen *e,
			       const struct fm_sight *how, struct sights *l)
{
	const struct fm_trail *t = trail_of(st, e->who);
	const struct fm_seen *r;
	bool others = false;

	l->n = 0;
	l->far = how->near > 2 * step_most ? how->near : 2 * step_most;
	for (unsigned k = 1; k <= FM_RECENT; k++) {
		r = &st->recent[(st->next_recent - k) % FM_RECENT];
		others |= r->who != e->who;
		if (!is_far(l, r, e) && fm_detect_lately(st, r, how))
			l->v[l->n++] = r;
	}
	for (unsigned k = 1; others && k <= FM_TRAIL; k++) {
		r = &t->seen[(t->next - k) % FM_TRAIL];
		if (r->who == e->who && !is_far(l, r, e))
			l->v[l->n++] = r;
	}
}

/* The direction in which e continues r, or 0, and what is missing between. */
static FM_FAULT int leap(const struct fm_seen *r, const struct fm_seen *e,
			 int64_t *ret_gap)
{
	const bool up = e->hi > r->hi && e->lo >= r->lo;
	const bool down = e->lo < r->lo && e->hi <= r->hi;

	*ret_gap = up ? e->lo - r->hi : r->lo - e->hi;
	return up ? 1 : down ? -1 : 0;
}

/* The nearest one that e continues, of those the last, and which way; or
 * NULL. */
static FM_FAULT const struct fm_seen *
leapt_from(const struct sights *l, const struct fm_seen *e, int64_t near,
	   int *ret_way)
{
	const struct fm_seen *nearest = NULL;
	int64_t least = near + 1, gap;

	for (int k = 0; k < l->n; k++) {
		const int way = leap(l->v[k], e, &gap);

		gap = gap < 0 ? 0 : gap;
		if (!way || gap >= least)
			continue;
		nearest = l->v[k];
		least = gap;
		*ret_way = way;
	}
	return nearest;
}

/* Some of what lies in order is wanted, as when rows have been selected. All of
 * it together is read sooner than that page by page. */
static FM_FAULT void link_chain(struct fm_seen *e, const struct sights *l,
				int64_t near)
{
	int way = 0;
	const struct fm_seen *r = leapt_from(l, e, near, &way);

	e->chain = way;
	e->came = 0;
	if (!r)
		return;
	e->came = (uint32_t)(way > 0 ? e->hi - r->hi : r->lo - e->lo);
	if (r->chain * way > 0) {
		e->chain += r->chain;
		e->came += r->came;
	} else {
		e->came += (uint32_t)(r->hi - r->lo);
	}
}

static FM_FAULT bool was_at(const struct sights *l, int64_t page)
{
	for (int k = 0; k < l->n; k++)
		if (l->v[k]->i == page)
			return true;
	return false;
}

static FM_FAULT int64_t equal_step(const struct sights *l, int64_t i)
{
	for (int k = 0; k < l->n; k++) {
		const int64_t d = i - l->v[k]->i;

		if (fm_pages_apart(d, 0) >= fm_tune.detect_least_stride &&
		    d <= step_most && -d <= step_most && was_at(l, i - 2 * d))
			return d;
	}
	return 0;
}

/* The step of a new stream that e completes, or 0. */
static FM_FAULT int64_t new_step(const struct fm_stream_set *st,
				 const struct sights *l,
				 const struct fm_seen *e)
{
	int64_t step;

	for (int k = 0; e->i != FM_NEVER && k < l->n; k++) {
		if (e->i == l->v[k]->hi)
			return 1;
		if (e->i + 1 == l->v[k]->lo)
			return -1;
	}
	step = e->i == FM_NEVER ? 0 : equal_step(l, e->i);
	if (step && !is_in_order(st, e->i - step))
		return step;
	return e->chain >= fm_tune.detect_leaps	 ? 1 :
	       e->chain <= -fm_tune.detect_leaps ? -1 :
						   0;
}

/* ---- how many last ------------------------------------------------------ */

FM_FAULT bool fm_detect_in_vain(const struct fm_stream_set *st)
{
	return st->began >= fm_tune.sample_enough &&
	       st->lasted * fm_tune.streaming_part < st->began;
}

static FM_FAULT void count_begun(struct fm_stream_set *st)
{
	if (st->began >= 8 * fm_tune.sample_enough) {
		st->began /= 2;
		st->lasted /= 2;
	}
	st->began++;
}

static FM_FAULT void count_lasting(struct fm_stream_set *st,
				   struct fm_stream *s)
{
	if (s->lasted || fm_stream_strided(s) ||
	    s->passed <= fm_tune.ahead_proven)
		return;
	s->lasted = true;
	st->lasted++;
}

/* ---- going on ----------------------------------------------------------- */

static FM_FAULT struct fm_stream *least_used(struct fm_stream_set *st)
{
	struct fm_stream *s = &st->s[0];

	for (int k = 1; k < FM_STREAMS && s->live; k++)
		if (!st->s[k].live || st->s[k].used < s->used)
			s = &st->s[k];
	return s;
}

static FM_FAULT struct fm_stream *begin_in(struct fm_stream_set *st,
					   struct fm_stream *s, int64_t i,
					   int64_t step, uint64_t passed)
{
	*s = (struct fm_stream){ .live = true,
				 .step = step,
				 .pos = i,
				 .edge = i + step,
				 .behind = step < 0 ? i + 1 : i,
				 .passed = passed,
				 .used = st->clock };
	if (!fm_stream_strided(s))
		count_begun(st);
	return s;
}

FM_FAULT struct fm_stream *fm_detect_begin(struct fm_stream_set *st, int64_t i,
					   int64_t step, uint64_t passed)
{
	return begin_in(st, least_used(st), i, step, passed);
}

/* Where e ends for s. */
static FM_FAULT int64_t detect_end_of(const struct fm_stream *s,
				      const struct fm_seen *e)
{
	return s->step == 1 ? e->hi - 1 : s->step == -1 ? e->lo : e->i;
}

/* Steps between, beyond which the reader has leapt: pages that were present all
 * along may lie there, but of what it has ahead a touch at random finds more
 * than a quarter left out, mostly, however far it came before. */
static FM_FAULT uint64_t leap_from(const struct fm_stream *s, int64_t near)
{
	const uint64_t ahead = fm_pages_apart(s->edge, s->pos) /
			       fm_pages_apart(s->step, 0);

	return 2 * (uint64_t)near +
	       (s->passed < ahead ? s->passed : ahead) / 4;
}

/* The reader has come to pos. */
static FM_FAULT void earn(struct fm_stream *s, const struct fm_seen *e,
			  int64_t pos, int64_t near)
{
	const int64_t gap = fm_stream_strided(s)
				    ? (int64_t)fm_pages_apart(pos, s->pos)
			    : s->step > 0 ? e->lo - s->pos
					  : s->pos - e->hi + 1;
	const uint64_t step = fm_pages_apart(s->step, 0);

	if (gap <= 0 || (uint64_t)gap / step <= leap_from(s, near))
		s->passed += fm_pages_apart(pos, s->pos) / step;
	else
		s->passed /= 2;
}

/* Is t's reader where s has read ahead to, and on the same way? */
static FM_FAULT bool leads(const struct fm_stream *t, const struct fm_stream *s)
{
	return t->live && t != s && t->step == s->step &&
	       (s->step > 0 ? t->pos >= s->pos && t->pos <= s->edge :
			      t->pos <= s->pos && t->pos >= s->edge);
}

/* s becomes both: what lies between the two has been asked for. */
static FM_FAULT void join(struct fm_stream *s, struct fm_stream *t)
{
	s->pos = t->pos;
	s->edge = s->step > 0 ? (s->edge > t->edge ? s->edge : t->edge) :
				(s->edge < t->edge ? s->edge : t->edge);
	s->behind = t->behind;
	s->passed += t->passed;
	s->helped |= t->helped;
	s->slow |= t->slow;
	s->lasted |= t->lasted;
	t->live = false;
}

/* Threads that share out what lies in order begin a stream each, but are one
 * reader: in the way of each other they would have a part of the room each, and
 * those behind read nothing. */
static FM_FAULT void join_others(struct fm_stream_set *st, struct fm_stream *s)
{
	for (int k = 0; k < FM_STREAMS && !fm_stream_strided(s); k++)
		if (leads(&st->s[k], s))
			join(s, &st->s[k]);
}

static FM_FAULT void go_on(struct fm_stream_set *st, struct fm_stream *s,
			   const struct fm_seen *e, int64_t near)
{
	const int64_t pos = detect_end_of(s, e);

	if (s->step > 0 ? pos > s->pos : pos < s->pos) {
		earn(s, e, pos, near);
		count_lasting(st, s);
		s->pos = pos;
	}
	if (!fm_stream_strided(s) && s->edge >= e->lo && s->edge < e->hi)
		s->edge = s->step > 0 ? e->hi : e->lo - 1;
	if (s->step > 0 ? s->edge <= s->pos : s->edge >= s->pos)
		s->edge = s->pos + s->step;
	s->used = st->clock;
	s->who = e->who;
	join_others(st, s);
}

/* Who comes late by a page or two, as others do that read along, has not. */
static FM_FAULT bool detect_turns(const struct fm_stream *s,
				  const struct fm_seen *e)
{
	return s->step == 1  ? e->chain <= -fm_tune.detect_leaps :
	       s->step == -1 ? e->chain >= fm_tune.detect_leaps :
			       false;
}

/* What led to e is a part of the stream. */
static FM_FAULT int64_t origin_of(const struct fm_seen *e, int64_t step)
{
	return step > 0 ? e->hi - e->came : e->lo + e->came;
}

/* The one that ends where that begins: its reader has turned. */
static FM_FAULT struct fm_stream *ended_at(struct fm_stream_set *st, int64_t i,
					   int64_t step)
{
	for (int k = 0; k < FM_STREAMS; k++)
		if (st->s[k].live && st->s[k].step == -step &&
		    st->s[k].pos + (step < 0) == i)
			return &st->s[k];
	return least_used(st);
}

/* In the place of s, which it has turned from, if any. */
static FM_FAULT struct fm_stream *
begin_with(struct fm_stream_set *st, struct fm_stream *s,
	   const struct fm_seen *e, int64_t step)
{
	const int64_t from = origin_of(e, step);

	if (step != 1 && step != -1)
		return fm_detect_begin(st, e->i, step, 2);
	s = s ? s : ended_at(st, from, step);
	begin_in(st, s, step > 0 ? e->hi - 1 : e->lo, step, e->came);
	s->behind = from;
	return s;
}

static FM_FAULT void detect_note(struct fm_stream_set *st,
				 const struct fm_seen *e)
{
	struct fm_trail *t = trail_of(st, e->who);

	st->recent[st->next_recent++ % FM_RECENT] = *e;
	t->seen[t->next++ % FM_TRAIL] = *e;
}

/* The stream that e belongs to or begins. */
static FM_FAULT struct fm_stream *stream_at(struct fm_stream_set *st,
					    struct fm_seen *e,
					    const struct fm_sight *how)
{
	struct fm_stream *s = fm_detect_find(st, e, how);
	struct sights l;
	int64_t step;

	look_back(st, e, how, &l);
	link_chain(e, &l, how->near);
	if (s && !detect_turns(s, e))
		return s;
	step = new_step(st, &l, e);
	return step ? begin_with(st, s, e, step) : s;
}

FM_FAULT struct fm_stream *fm_detect(struct fm_stream_set *st,
				     const struct fm_seen *seen,
				     const struct fm_sight *how)
{
	struct fm_seen e = *seen;
	struct fm_stream *s;

	e.at = (uint32_t)st->clock;
	s = stream_at(st, &e, how);
	detect_note(st, &e);
	if (s)
		go_on(st, s, &e, how->near);
	return s;
}
