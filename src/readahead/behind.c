/* SPDX-License-Identifier: MIT */
#include "behind.h"

#include "cache/cache.h"
#include "file/file.h"
#include "policy.h"
#include "tunables.h"

static FM_FAULT bool nearly_full(void)
{
	return fm_cache_resident() * 8 >= (int64_t)fm_cache_limit() * 7;
}

static FM_FAULT bool drops(const struct fm_map *m)
{
	const struct fm_policy *p = m->file->policy;

	return p->drop_behind || (atomic_load(&m->advice) == MADV_SEQUENTIAL &&
				  nearly_full());
}

static FM_FAULT struct fm_behind forward(struct fm_stream *s, int64_t to)
{
	struct fm_behind b = { s->behind, to };

	if (b.lo < b.hi)
		s->behind = to;
	if (b.lo < b.hi - fm_tune.behind_most)
		b.lo = b.hi - fm_tune.behind_most;
	return b;
}

static FM_FAULT struct fm_behind backward(struct fm_stream *s, int64_t from)
{
	struct fm_behind b = { from, s->behind };

	if (b.lo < b.hi)
		s->behind = from;
	if (b.hi > b.lo + fm_tune.behind_most)
		b.hi = b.lo + fm_tune.behind_most;
	return b;
}

/* A strided stream has passed single pages, where not all between was read. */
static FM_FAULT struct fm_behind single(const struct fm_stream *s,
					int64_t first)
{
	int64_t old = first - 2 * s->step;

	return (struct fm_behind){ old, old + 1 };
}

FM_FAULT struct fm_behind fm_behind_claim(const struct fm_map *m,
					  struct fm_stream *s, int64_t first,
					  int64_t n)
{
	int64_t end = (int64_t)fm_map_pages(m);
	const bool strided = fm_stream_strided(s);
	struct fm_behind b = strided && n == 1 ? single(s, first) :
			     s->step > 0 ? forward(s, first - n) :
					   backward(s, first + 2 * n);

	if (b.lo < 0)
		b.lo = 0;
	if (b.hi > end)
		b.hi = end;
	return drops(m) ? b : (struct fm_behind){ 0, 0 };
}

/* Does a whole unit begin at page i, and does all of it leave? */
static FM_FAULT bool is_unit(struct fm_map *m, int64_t i, int64_t end)
{
	return (fm_mode(m, (uint64_t)i) & PM_HUGE) &&
	       !((uintptr_t)fm_map_addr(m, (uint64_t)i) % FM_HUGE) &&
	       i + (int64_t)FM_HUGE_PAGES <= end;
}

FM_FAULT void fm_behind_drop(struct fm_map *m, struct fm_behind b)
{
	struct fm_zap_batch d = { .n = 0 };

	for (int64_t i = b.lo; i < b.hi; i++) {
		if (fm_shares_pinned(m->file, m->pgoff + (uint64_t)i))
			continue;
		if (is_unit(m, i, b.hi)) {
			fm_zap_now(&d);
			fm_huge_evict(m, (uint64_t)i, false);
			i += (int64_t)FM_HUGE_PAGES - 1;
		} else {
			fm_zap_clean(&d, m, (uint64_t)i);
		}
	}
	fm_zap_now(&d);
}
