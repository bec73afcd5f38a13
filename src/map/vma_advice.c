/* SPDX-License-Identifier: MIT */
#include "vma_advice.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sys.h"

enum {
	SAID_RANDOM = 0x01,
	SAID_SEQUENTIAL = 0x02,
	SAID_DONTDUMP = 0x04,
	SAID_HUGE = 0x08,
	SAID_NOHUGE = 0x10,
	SAID_MERGE = 0x20,
};

#define MOST 65536 /* size: ranges: about what the kernel allows itself */
#define FEW 16u    /* size: ranges that need no memory */

/* What an advice undoes, and what it says. */
static const struct word {
	int advice;
	uint8_t off, on;
} words[] = {
	{ MADV_NORMAL, SAID_RANDOM | SAID_SEQUENTIAL, 0 },
	{ MADV_RANDOM, SAID_SEQUENTIAL, SAID_RANDOM },
	{ MADV_SEQUENTIAL, SAID_RANDOM, SAID_SEQUENTIAL },
	{ MADV_DONTDUMP, 0, SAID_DONTDUMP },
	{ MADV_DODUMP, SAID_DONTDUMP, 0 },
	{ MADV_HUGEPAGE, SAID_NOHUGE, SAID_HUGE },
	{ MADV_NOHUGEPAGE, SAID_HUGE, SAID_NOHUGE },
	{ MADV_MERGEABLE, 0, SAID_MERGE },
	{ MADV_UNMERGEABLE, SAID_MERGE, 0 },
};

#define WORDS (sizeof(words) / sizeof(words[0]))

static const struct word *vma_advice_word(int advice)
{
	for (size_t k = 0; k < WORDS; k++)
		if (words[k].advice == advice)
			return &words[k];
	return NULL;
}

/* ---- ranges -------------------------------------------------------------- */

static void vma_advice_put(struct fm_said *s, uint64_t first, uint64_t stop,
			   uint8_t what)
{
	struct fm_vma_advice_range *last = s->n ? &s->v[s->n - 1] : NULL;

	if (first >= stop || !what)
		return;
	if (last && last->stop == first && last->what == what)
		last->stop = stop;
	else if (s->n < s->room)
		s->v[s->n++] =
			(struct fm_vma_advice_range){ first, stop, what };
}

/* The first that ends at this page, or behind it. */
static size_t vma_advice_index(const struct fm_said *s, uint64_t page)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (s->v[mid].stop < page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* What is between two ranges counts as one of which nothing is said. */
static void put_changed(struct fm_said *to, const struct fm_said *s,
			uint64_t first, uint64_t stop, uint8_t off, uint8_t on)
{
	uint64_t at = first;

	for (size_t k = 0; k < s->n; k++) {
		struct fm_vma_advice_range r = s->v[k];
		uint64_t lo = r.first > first ? r.first : first;
		uint64_t hi = fm_least(r.stop, stop);

		vma_advice_put(to, r.first, fm_least(r.stop, first), r.what);
		if (lo < hi) {
			vma_advice_put(to, at, lo, on);
			vma_advice_put(to, lo, hi,
				       (uint8_t)((r.what & ~off) | on));
			at = hi;
		}
		if (r.stop > stop) {
			vma_advice_put(to, at, stop, on);
			at = stop;
		}
		vma_advice_put(to, r.first > stop ? r.first : stop, r.stop,
			       r.what);
	}
	vma_advice_put(to, at, stop, on);
}

/* Room for n more. */
static int vma_advice_room(struct fm_said *s, size_t n)
{
	struct fm_vma_advice_range *v;
	const size_t room = s->n + n > 2 * s->room ? s->n + n : 2 * s->room;

	if (s->n + n <= s->room)
		return 0;
	v = fm_realloc(s->v, room * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	s->room = room;
	return 0;
}

/* These instead of n from the k-th on. */
static int vma_advice_splice(struct fm_said *s, size_t k, size_t n,
			     const struct fm_said *with)
{
	if (vma_advice_room(s, with->n))
		return -ENOMEM;
	memmove(&s->v[k + with->n], &s->v[k + n],
		(s->n - k - n) * sizeof(*s->v));
	memcpy(&s->v[k], with->v, with->n * sizeof(*s->v));
	s->n += with->n - n;
	return 0;
}

/* Those that the pages lie in, or touch, are made anew. */
static int vma_advice_change(struct fm_said *s, uint64_t first, uint64_t stop,
			     uint8_t off, uint8_t on)
{
	const size_t k = vma_advice_index(s, first);
	size_t n = vma_advice_index(s, stop + 1) - k;
	struct fm_vma_advice_range few[FEW];
	struct fm_said at, to;
	int err;

	if (first >= stop || (!s->n && !on))
		return 0;
	if (s->n >= MOST)
		return -ENOMEM;
	n += k + n < s->n && s->v[k + n].first <= stop;
	at = (struct fm_said){ s->v + k, n, n };
	to = (struct fm_said){ few, 0, 2 * n + 3 };
	if (to.room > FEW)
		to.v = fm_alloc(to.room * sizeof(*to.v));
	if (!to.v)
		return -ENOMEM;
	put_changed(&to, &at, first, stop, off, on);
	err = vma_advice_splice(s, k, n, &to);
	if (to.v != few)
		fm_free(to.v);
	return err;
}

int fm_vma_advice_note(struct fm_said *s, uint64_t first, uint64_t stop,
		       int advice)
{
	const struct word *w = vma_advice_word(advice);

	return w ? vma_advice_change(s, first, stop, w->off, w->on) : 0;
}

static uint8_t said_of(const struct fm_said *s, uint64_t page)
{
	const size_t k = vma_advice_index(s, page + 1);

	return k < s->n && s->v[k].first <= page ? s->v[k].what : 0;
}

void fm_vma_advice_grow(struct fm_said *s, uint64_t first, uint64_t stop,
		  const struct fm_said *from, uint64_t like)
{
	vma_advice_change(s, first, stop, 0xff, said_of(from, like));
}

void fm_vma_advice_free(struct fm_said *s)
{
	if (s->v)
		fm_free(s->v);
	*s = (struct fm_said){ NULL, 0, 0 };
}

/* ---- to the kernel ----------------------------------------------------- */

/* It refuses what it does not know, or would need more memory for. */
static void vma_advice_tell(char *at, uint64_t pages, uint8_t what)
{
	const size_t len = pages << FM_PAGE_SHIFT;

	for (size_t k = 0; k < WORDS; k++)
		if ((what & words[k].on) &&
		    !fm_sys_madvise(at, len, words[k].advice))
			FM_UP_EACH(vma_advice_told, tell)
				tell(at, len, words[k].advice);
}

void fm_vma_advice_tell(const struct fm_said *s, uint64_t first, uint64_t stop,
			char *at)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct fm_vma_advice_range *r = &s->v[i];
		uint64_t lo = r->first > first ? r->first : first;
		uint64_t hi = fm_least(r->stop, stop);

		if (lo < hi)
			vma_advice_tell(at + ((lo - first) << FM_PAGE_SHIFT),
					hi - lo, r->what);
	}
}
