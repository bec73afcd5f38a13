/* SPDX-License-Identifier: MIT */
/* fetch_list.c - runs that are asked for one after the other, and lists of
 * them. */
#include "fetch.h"

#include "base/alloc.h"
#include "base/sys.h"
#include "base/types.h"

#define MOST_RUNS ((size_t)1 << 20) /* size: of a list */

static bool more_space(struct fm_fetch *f)
{
	size_t space = f->space ? 2 * f->space : 64;
	void *v = space <= MOST_RUNS ?
		fm_realloc(f->v, space * sizeof(*f->v)) : NULL;

	if (!v)
		return false;
	f->v = v;
	f->space = space;
	return true;
}

void fm_fetch_add(struct fm_fetch *f, uint64_t start, uint64_t end)
{
	struct fm_fetch_run *last = f->n ? &f->v[f->n - 1] : NULL;

	if (last && last->start <= start && start <= last->end)
		last->end = end > last->end ? end : last->end;
	else if (f->n < f->space || more_space(f))
		f->v[f->n++] = (struct fm_fetch_run){ start, end };
}

static bool fetch_list_is_over(const struct fm_fetch *f)
{
	return f->full || f->at == f->n ||
	       (f->until_ms && fm_now_ms() >= f->until_ms);
}

bool fm_fetch_list(struct fm_fetch *f, uint64_t ms)
{
	const uint64_t until = fm_now_ms() + ms;
	uint64_t now;

	while (!fetch_list_is_over(f) && (now = fm_now_ms()) < until)
		f->at += !fm_fetch_run(f, &f->v[f->at], until - now);
	return !fetch_list_is_over(f);
}

void fm_fetch_forget(struct fm_fetch *f)
{
	fm_free(f->v);
	f->v = NULL;
	f->n = f->space = f->at = 0;
}

/* ---- lists that wait --------------------------------------------------- */

void fm_fetch_later(struct fm_fetch **queue, struct fm_fetch *f)
{
	struct fm_fetch *node = fm_alloc(sizeof(*node));

	if (!node) {
		fm_fetch_forget(f);
		return;
	}
	*node = *f;
	while (*queue)
		queue = &(*queue)->next;
	*queue = node;
}

static void forget_first(struct fm_fetch **queue)
{
	struct fm_fetch *f = *queue;

	*queue = f->next;
	if (*queue)
		(*queue)->asked += f->asked;
	fm_fetch_forget(f);
	fm_free(f);
}

bool fm_fetch_turn(struct fm_fetch **queue, uint64_t ms)
{
	const uint64_t until = fm_now_ms() + ms;
	uint64_t now;

	while (*queue && (now = fm_now_ms()) < until)
		if (!fm_fetch_list(*queue, until - now))
			forget_first(queue);
	return *queue;
}

void fm_fetch_forget_all(struct fm_fetch **queue)
{
	while (*queue)
		forget_first(queue);
}
