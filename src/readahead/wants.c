/* SPDX-License-Identifier: MIT */
#include "wants.h"

#include <errno.h>

#include "base/lock.h"
#include "base/sys.h"
#include "base/ticket.h"
#include "chunk_priv.h"
#include "file/file.h"

/* A ring: 2 MiB, of which only what was used at a time exists. */
#define WANTS 65536u

struct fm_event fm_chunk_bell;
static struct fm_want *queue;
static uint32_t head, tail;  /* taken, added: growing */
static uint64_t pages;       /* in the queue */

static bool wants_is_of(const struct fm_want *w, const struct fm_map *m)
{
	return w->id == m->id && w->gen == atomic_load(&m->gen);
}

static bool append(const struct fm_want *w)
{
	if (tail - head == WANTS)
		return false;
	queue[tail++ % WANTS] = *w;
	pages += w->end - w->i;
	return true;
}

/* The last one goes on to `end`. */
static bool extend(const struct fm_map *m, uint64_t i, uint64_t end,
		   uint64_t tickets)
{
	struct fm_want *last = &queue[(tail - 1) % WANTS];

	if (tail == head || !wants_is_of(last, m) || i < last->i ||
	    i > last->end)
		return false;
	if (last->end < end) {
		pages += end - last->end;
		last->end = end;
	}
	fm_ticket_add(tickets & ~last->tickets);
	last->tickets |= tickets;
	return true;
}

/* One call brings half of what the cache takes at most, all together as much as
 * it takes: more would drive out what was asked for before. */
static uint64_t that_fit(uint64_t n)
{
	const uint64_t limit = fm_cache_limit();
	const uint64_t room = limit > pages ? limit - pages : 0;

	return fm_least(n, fm_least(room, limit / 2));
}

static void wants_add_some(const struct fm_map *m, struct fm_want *w)
{
	if (extend(m, w->i, w->end, w->tickets))
		return;
	if (append(w))
		fm_ticket_add(w->tickets);
	else
		w->end = w->i;
}

void fm_wants_add(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets)
{
	struct fm_want w = { m->id, atomic_load(&m->gen), i, i, 0, tickets };
	uint64_t fit;

	if (!queue)
		return;
	fm_lock(&fm_chunk_lock);
	fit = that_fit(n);
	w.end += fit;
	if (fit)
		wants_add_some(m, &w);
	fm_unlock(&fm_chunk_lock);
	fit = w.end - i;
	if (fit < n)
		fm_count(&m->file->st->ahead_refused, n - fit);
	if (fit)
		fm_event_raise(&fm_chunk_bell);
}

bool fm_wants_take(struct fm_want *ret)
{
	bool any;

	fm_lock(&fm_chunk_lock);
	any = head != tail;
	if (any) {
		*ret = queue[head++ % WANTS];
		pages -= ret->end - ret->i;
	}
	if (head == tail)
		head = tail = 0;
	fm_unlock(&fm_chunk_lock);
	return any;
}

bool fm_wants_back(const struct fm_want *w)
{
	bool back;

	fm_lock(&fm_chunk_lock);
	back = head != tail && append(w);
	if (back)
		queue[(tail - 1) % WANTS].vain = 0;
	fm_unlock(&fm_chunk_lock);
	return back;
}

int fm_wants_start(void)
{
	if (!queue)
		queue = fm_sys_anon(WANTS * sizeof(*queue));
	return queue ? 0 : -ENOMEM;
}

void fm_wants_reset(void)
{
	head = tail = 0;
	pages = 0;
}
