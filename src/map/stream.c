/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include "base/sys.h"
#include "map.h"

#define AT_ONCE 16 /* size: made */

/* Made in fault context: recycled through a list, never freed. */
static struct fm_lock pool_lock;
static struct fm_stream_set *pool;

static FM_FAULT void stream_free(struct fm_stream_set *st)
{
	fm_lock(&pool_lock);
	st->next_free = pool;
	pool = st;
	fm_unlock(&pool_lock);
}

/* Not under the lock: a fork holds up who asks the kernel for memory, and the
 * child would find it taken. */
static FM_FAULT struct fm_stream_set *stream_more(void)
{
	struct fm_stream_set *st = fm_sys_anon(AT_ONCE * sizeof(*st));

	for (int k = 1; st && k < AT_ONCE; k++)
		stream_free(&st[k]);
	return st;
}

static FM_FAULT void clear_seen(struct fm_seen *r, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		r[k] = (struct fm_seen){ .i = FM_NEVER, .lo = FM_NEVER,
					.hi = FM_NEVER };
}

FM_FAULT void fm_streams_clear(struct fm_stream_set *st)
{
	*st = (struct fm_stream_set){ .lock = FM_LOCK(FM_RANK_STREAM) };
	clear_seen(st->recent, FM_RECENT);
	for (int k = 0; k < FM_TRAILS; k++)
		clear_seen(st->trail[k].seen, FM_TRAIL);
}

static FM_FAULT struct fm_stream_set *stream_new(void)
{
	struct fm_stream_set *st;

	fm_lock(&pool_lock);
	st = pool;
	if (st)
		pool = st->next_free;
	fm_unlock(&pool_lock);
	if (!st)
		st = stream_more();
	if (st)
		fm_streams_clear(st);
	return st;
}

FM_FAULT struct fm_stream_set *fm_streams_of(struct fm_map *m)
{
	struct fm_stream_set *st = atomic_load(&m->streams), *none = NULL;

	if (st)
		return st;
	st = stream_new();
	if (st && !atomic_compare_exchange_strong(&m->streams, &none, st)) {
		stream_free(st);
		return none;
	}
	return st;
}

FM_FAULT bool fm_stream_lately(const struct fm_stream_set *st,
			       const struct fm_stream *s)
{
	return s->live && st->clock - s->used < 8 * FM_STREAMS;
}

/* ---- when the mapping is cut ------------------------------------------- */

static bool any_beyond(const struct fm_stream_set *st, int64_t i)
{
	for (int k = 0; k < FM_STREAMS; k++) {
		const struct fm_stream *s = &st->s[k];

		if (fm_stream_lately(st, s) && (s->pos >= i || s->edge >= i))
			return true;
	}
	return false;
}

static void shift_seen(struct fm_seen *to, const struct fm_seen *r, unsigned n,
		       int64_t i)
{
	for (unsigned k = 0; k < n; k++) {
		if (r[k].hi <= i)
			continue;
		to[k] = r[k];
		to[k].i -= i;
		to[k].lo -= i;
		to[k].hi -= i;
	}
}

static void shift(struct fm_stream_set *to, const struct fm_stream_set *st,
		  int64_t i)
{
	to->clock = st->clock;
	to->next_recent = st->next_recent;
	to->began = st->began;
	to->lasted = st->lasted;
	shift_seen(to->recent, st->recent, FM_RECENT, i);
	for (int k = 0; k < FM_TRAILS; k++) {
		to->trail[k].next = st->trail[k].next;
		shift_seen(to->trail[k].seen, st->trail[k].seen, FM_TRAIL, i);
	}
	for (int k = 0; k < FM_STREAMS; k++) {
		struct fm_stream *s = &to->s[k];

		*s = st->s[k];
		s->pos -= i;
		s->edge -= i;
		s->behind -= i;
		s->live = fm_stream_lately(st, &st->s[k]) &&
			  (s->pos >= 0 || s->edge >= 0);
	}
}

void fm_streams_split(struct fm_map *m, struct fm_map *n, uint64_t i)
{
	struct fm_stream_set *st = atomic_load(&m->streams), *to = NULL;

	if (!st)
		return;
	fm_lock(&st->lock);
	if (any_beyond(st, (int64_t)i))
		to = fm_streams_of(n);
	if (to)
		shift(to, st, (int64_t)i);
	fm_unlock(&st->lock);
}

void fm_streams_forget(struct fm_map *m)
{
	struct fm_stream_set *st = atomic_load(&m->streams);

	if (!st)
		return;
	fm_lock(&st->lock);
	for (int k = 0; k < FM_STREAMS; k++)
		st->s[k].live = false;
	fm_unlock(&st->lock);
}

void fm_streams_gone(struct fm_map *m)
{
	if (atomic_load(&m->streams))
		stream_free(atomic_load(&m->streams));
}

void fm_streams_forked(void)
{
	fm_lock_reset(&pool_lock);
}
