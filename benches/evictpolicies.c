/* SPDX-License-Identifier: MIT */
/* evictpolicies.c - the engine's policies, of which this compiles the engine's
 * sources, over lists; and others for comparison, each a few lines. */
#include <string.h>

#include "evictsim.h"

static void list_del(struct sim *s, uint32_t page)
{
	struct list *l = &s->list[s->where[page]];
	uint32_t p = s->prev[page], n = s->next[page];

	if (s->where[page] == L_OUT)
		return;
	*(p == NONE ? &l->head : &s->next[p]) = n;
	*(n == NONE ? &l->tail : &s->prev[n]) = p;
	l->len--;
	s->where[page] = L_OUT;
}

static void list_add(struct sim *s, enum list_id id, uint32_t page)
{
	struct list *l = &s->list[id];

	list_del(s, page);
	s->prev[page] = NONE;
	s->next[page] = l->head;
	*(l->head == NONE ? &l->tail : &s->prev[l->head]) = page;
	l->head = page;
	l->len++;
	s->where[page] = (uint8_t)id;
}

/* At the end where lists give. */
static void list_add_last(struct sim *s, enum list_id id, uint32_t page)
{
	struct list *l = &s->list[id];

	list_del(s, page);
	s->next[page] = NONE;
	s->prev[page] = l->tail;
	*(l->tail == NONE ? &l->head : &s->next[l->tail]) = page;
	l->tail = page;
	l->len++;
	s->where[page] = (uint8_t)id;
}

static void ghost_add(struct sim *s, uint32_t page, uint64_t most)
{
	list_add(s, L_GHOST, page);
	while (s->list[L_GHOST].len > most)
		list_del(s, s->list[L_GHOST].tail);
}

static bool lru(struct sim *s, uint32_t page)
{
	bool hit = s->where[page] == L_MAIN;

	if (!hit && s->list[L_MAIN].len == s->cache)
		list_del(s, s->list[L_MAIN].tail);
	list_add(s, L_MAIN, page);
	return hit;
}

/* Needs access bits, which the engine does not have. */
static bool second_chance(struct sim *s, uint32_t page)
{
	uint32_t victim;

	if (s->where[page] == L_MAIN) {
		s->freq[page] = 1;
		return true;
	}
	while (s->list[L_MAIN].len == s->cache) {
		victim = s->list[L_MAIN].tail;
		if (s->freq[victim]) {
			s->freq[victim] = 0;
			list_add(s, L_MAIN, victim);
		} else {
			list_del(s, victim);
		}
	}
	s->freq[page] = 0;
	list_add(s, L_MAIN, page);
	return false;
}

static void s3_evict_main(struct sim *s)
{
	uint32_t victim;

	for (;;) {
		victim = s->list[L_MAIN].tail;
		if (!s->freq[victim])
			break;
		s->freq[victim]--;
		list_add(s, L_MAIN, victim);
	}
	list_del(s, victim);
}

/* Yang et al., "FIFO queues are all you need for cache eviction": what was
 * touched again moves from small to main, the rest leaves a ghost. */
static void s3_evict_small(struct sim *s)
{
	while (s->list[L_SMALL].len) {
		uint32_t victim = s->list[L_SMALL].tail;

		if (s->freq[victim] < 2) {
			ghost_add(s, victim, s->cache);
			return;
		}
		s->freq[victim] = 0;
		list_add(s, L_MAIN, victim);
		if (s->list[L_MAIN].len > s->cache - s->cache / 10)
			s3_evict_main(s);
	}
}

static bool s3fifo(struct sim *s, uint32_t page)
{
	bool ghost = s->where[page] == L_GHOST;

	if (s->where[page] == L_SMALL || s->where[page] == L_MAIN) {
		s->freq[page] += s->freq[page] < 3;
		return true;
	}
	while (s->list[L_SMALL].len + s->list[L_MAIN].len >= s->cache) {
		if (s->list[L_SMALL].len > s->cache / 10 ||
		    !s->list[L_MAIN].len)
			s3_evict_small(s);
		else
			s3_evict_main(s);
	}
	s->freq[page] = 0;
	list_add(s, ghost ? L_MAIN : L_SMALL, page);
	return false;
}

/* ---- the engine's ------------------------------------------------------- */

static enum list_id queue_of(const struct fm_evict_policy *p, bool mark)
{
	return L_SMALL + (p->queue ? p->queue(mark) : 0);
}

static enum list_id victim_list(const struct sim *s)
{
	const struct fm_evict_policy *p = s->policy->engine;
	struct fm_evict_len len[FM_EVICT_QUEUES];

	for (int q = 0; q < FM_EVICT_QUEUES; q++) {
		len[q].entries = s->list[L_SMALL + q].len;
		len[q].pages = (int64_t)len[q].entries;
	}
	return L_SMALL + (p->victim ? p->victim(len) : 0);
}

/* What the policy's next victim is, when it has had its way with those that
 * stay. */
static uint32_t next_victim(struct sim *s)
{
	const struct fm_evict_policy *p = s->policy->engine;

	for (;;) {
		struct list *l = &s->list[victim_list(s)];
		uint32_t page = p->newest_first ? l->head : l->tail;
		bool mark = s->freq[page];

		if (!p->stays || !p->stays(&mark, false))
			return page;
		s->freq[page] = mark;
		if (p->newest_first)
			list_add_last(s, s->where[page], page);
		else
			list_add(s, s->where[page], page);
	}
}

static void enter(struct sim *s, uint32_t page, bool again)
{
	const struct fm_evict_policy *p = s->policy->engine;
	bool mark = p->enter && p->enter(again);

	s->freq[page] = mark;
	list_add(s, queue_of(p, mark), page);
}

static bool is_present(const struct sim *s, uint32_t page)
{
	return s->where[page] >= L_SMALL &&
	       s->where[page] < L_SMALL + FM_EVICT_QUEUES;
}

static uint64_t present(const struct sim *s)
{
	uint64_t n = 0;

	for (int q = 0; q < FM_EVICT_QUEUES; q++)
		n += s->list[L_SMALL + q].len;
	return n;
}

/* No access bits: only a page that comes back after it was evicted is known to
 * be hot. */
static bool engine(struct sim *s, uint32_t page)
{
	bool again = s->where[page] == L_GHOST;

	if (is_present(s, page))
		return true;
	if (present(s) == s->cache)
		ghost_add(s, next_victim(s), s->cache);
	enter(s, page, again);
	return false;
}

/* The same with a standby list: a victim is unmapped but kept for a while;
 * touched there it costs a fault but no I/O, and is known to be hot. The
 * standby pages are part of the cache: a sixteenth of it. */
static bool engine_standby(struct sim *s, uint32_t page)
{
	uint64_t keep = s->cache / 16 + 1;
	bool back = s->where[page] == L_STANDBY;
	bool again = back || s->where[page] == L_GHOST;

	if (is_present(s, page))
		return true;
	if (back)
		s->soft++;
	else if (present(s) + s->list[L_STANDBY].len == s->cache)
		ghost_add(s, s->list[L_STANDBY].len ? s->list[L_STANDBY].tail :
			     next_victim(s), s->cache);
	enter(s, page, again);
	/* Victims move to standby ahead of need, once the cache is full. */
	while (present(s) > s->cache - keep && s->list[L_STANDBY].len < keep)
		list_add(s, L_STANDBY, next_victim(s));
	return back;
}

static void heap_push(struct sim *s, uint64_t when, uint32_t page)
{
	uint64_t i = s->nheap++;

	for (; i && s->heap[(i - 1) / 2].when < when; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = (struct heap_entry){ when, page };
}

static struct heap_entry heap_pop(struct sim *s)
{
	struct heap_entry top = s->heap[0], last = s->heap[--s->nheap];
	uint64_t i = 0, k;

	while ((k = 2 * i + 1) < s->nheap) {
		k += k + 1 < s->nheap && s->heap[k + 1].when > s->heap[k].when;
		if (s->heap[k].when <= last.when)
			break;
		s->heap[i] = s->heap[k];
		i = k;
	}
	s->heap[i] = last;
	return top;
}

/* Belady: the page that is needed furthest in the future leaves. Heap entries
 * of a page that was touched since are stale: its `when` has moved on. */
static bool optimum(struct sim *s, uint32_t page)
{
	bool hit = s->where[page] == L_MAIN;
	struct heap_entry e;

	if (!hit && s->list[L_MAIN].len == s->cache) {
		do
			e = heap_pop(s);
		while (s->where[e.page] != L_MAIN || s->when[e.page] != e.when);
		list_del(s, e.page);
	}
	if (!hit)
		list_add(s, L_MAIN, page);
	s->when[page] = s->next_use[s->now];
	heap_push(s, s->when[page], page);
	return hit;
}

static const struct evict_policy others[] = {
	{ "clock", "-access", .touch = second_chance },
	{ "lru", "", .touch = lru },
	{ "s3fifo", "-access", .touch = s3fifo },
	{ "optimum", "", .touch = optimum },
};

void evict_policies(struct evict_policies *ret)
{
	ret->n = 0;
	for (int i = 0; i < FM_EVICT_POLICIES; i++) {
		const struct fm_evict_policy *p = fm_evict_policies[i];

		ret->p[ret->n++] =
			(struct evict_policy){ p->name, "", engine, p };
		if (p->standby)
			ret->p[ret->n++] = (struct evict_policy){
				p->name, "+standby", engine_standby, p };
	}
	memcpy(ret->p + ret->n, others, sizeof(others));
	ret->n += sizeof(others) / sizeof(*others);
}
