/* SPDX-License-Identifier: MIT */
/* evictpolicies.c - the policies themselves; each is a few lines over lists. */
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

static void ghost_add(struct sim *s, uint32_t page, uint64_t most)
{
	list_add(s, L_GHOST, page);
	while (s->list[L_GHOST].len > most)
		list_del(s, s->list[L_GHOST].tail);
}

static bool fifo(struct sim *s, uint32_t page)
{
	if (s->where[page] == L_MAIN)
		return true;
	if (s->list[L_MAIN].len == s->cache)
		list_del(s, s->list[L_MAIN].tail);
	list_add(s, L_MAIN, page);
	return false;
}

static bool lru(struct sim *s, uint32_t page)
{
	bool hit = s->where[page] == L_MAIN;

	if (!hit && s->list[L_MAIN].len == s->cache)
		list_del(s, s->list[L_MAIN].tail);
	list_add(s, L_MAIN, page);
	return hit;
}

/* Needs access bits, which the engine does not have: for comparison. */
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
		if (s->list[L_SMALL].len > s->cache / 10 || !s->list[L_MAIN].len)
			s3_evict_small(s);
		else
			s3_evict_main(s);
	}
	s->freq[page] = 0;
	list_add(s, ghost ? L_MAIN : L_SMALL, page);
	return false;
}

/* eviction=clock of src/cache/cache.c: the bit is set by what the engine can see, a
 * touch soon after the eviction. */
static bool clock_noaccess(struct sim *s, uint32_t page)
{
	bool again = s->where[page] == L_GHOST;
	uint32_t victim;

	if (s->where[page] == L_MAIN)
		return true;
	while (s->list[L_MAIN].len == s->cache) {
		victim = s->list[L_MAIN].tail;
		if (s->freq[victim]) {
			s->freq[victim] = 0;
			list_add(s, L_MAIN, victim);
		} else {
			ghost_add(s, victim, s->cache);
		}
	}
	s->freq[page] = again;
	list_add(s, L_MAIN, page);
	return false;
}

static enum list_id engine_victim_list(const struct sim *s)
{
	uint64_t small = s->list[L_SMALL].len, main = s->list[L_MAIN].len;

	return small * 9 >= main || !main ? L_SMALL : L_MAIN;
}

/* src/cache/cache.c without standby: no access bits at all, so only a page that
 * comes back after it was evicted is known to be hot. */
static bool noaccess(struct sim *s, uint32_t page)
{
	bool hot = s->where[page] == L_GHOST;

	if (s->where[page] == L_SMALL || s->where[page] == L_MAIN)
		return true;
	if (s->list[L_SMALL].len + s->list[L_MAIN].len == s->cache)
		ghost_add(s, s->list[engine_victim_list(s)].tail, s->cache);
	list_add(s, hot ? L_MAIN : L_SMALL, page);
	return false;
}

/* The same with a standby list: a victim is unmapped but kept for a while;
 * touched there it costs a fault but no I/O, and is known to be hot. The
 * standby pages are part of the cache: a sixteenth of it. */
static bool standby(struct sim *s, uint32_t page)
{
	uint64_t keep = s->cache / 16 + 1;
	bool back = s->where[page] == L_STANDBY;
	bool hot = back || s->where[page] == L_GHOST;

	if (s->where[page] == L_SMALL || s->where[page] == L_MAIN)
		return true;
	if (back)
		s->soft++;
	else if (s->list[L_SMALL].len + s->list[L_MAIN].len +
		 s->list[L_STANDBY].len == s->cache)
		ghost_add(s, s->list[L_STANDBY].len ? s->list[L_STANDBY].tail :
			  s->list[engine_victim_list(s)].tail, s->cache);
	list_add(s, hot ? L_MAIN : L_SMALL, page);
	/* Victims move to standby ahead of need, once the cache is full. */
	while (s->list[L_SMALL].len + s->list[L_MAIN].len > s->cache - keep &&
	       s->list[L_STANDBY].len < keep)
		list_add(s, L_STANDBY, s->list[engine_victim_list(s)].tail);
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

const struct evict_policy evict_policies[] = {
	{ "fifo", "first in, first out", fifo },
	{ "clock", "second chance by access bit", second_chance },
	{ "clock-noaccess", "second chance for what came back", clock_noaccess },
	{ "lru", "least recently used", lru },
	{ "s3fifo", "S3-FIFO with access counts", s3fifo },
	{ "s3fifo-noaccess", "small, main and ghost without access bits", noaccess },
	{ "s3fifo-standby", "the same with a standby list", standby },
	{ "optimum", "Belady", optimum },
};
const size_t n_evict_policies = sizeof(evict_policies) / sizeof(*evict_policies);
