/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "base/lock.h"
#include "base/log.h"

#define ENTRIES 510 /* a segment is one page */
#define SLAB 16 /* size: segments */

struct fm_queue_segment {
	struct fm_queue_segment *next, *prev;
	uint64_t e[ENTRIES];
};

static struct fm_lock free_lock = FM_LOCK(FM_RANK_LEAF);
static struct fm_queue_segment *free_list;

static FM_FAULT struct fm_queue_segment *segment_get(void)
{
	struct fm_queue_segment *c;

	fm_lock(&free_lock);
	if (!free_list) {
		c = fm_sys_anon(SLAB * sizeof(*c));
		for (int i = 0; c && i < SLAB; i++) {
			c[i].next = free_list;
			free_list = &c[i];
		}
	}
	c = free_list;
	if (c)
		free_list = c->next;
	fm_unlock(&free_lock);
	return c;
}

static FM_FAULT void segment_put(struct fm_queue_segment *c)
{
	fm_lock(&free_lock);
	c->next = free_list;
	free_list = c;
	fm_unlock(&free_lock);
}

/* Room for one more entry at the tail; the queue lock is held. */
static FM_FAULT bool ensure_tail(struct fm_queue *q)
{
	struct fm_queue_segment *c;

	if (q->tail && q->tail_at < ENTRIES)
		return true;
	c = segment_get();
	if (!c)
		return false;
	c->next = NULL;
	c->prev = q->tail;
	if (q->tail)
		q->tail->next = c;
	else
		q->head = c;
	if (q->head == c)
		q->head_at = 0;
	q->tail = c;
	q->tail_at = 0;
	return true;
}

/* Room for one more before the head. */
static FM_FAULT bool ensure_head(struct fm_queue *q)
{
	struct fm_queue_segment *c;

	if (!q->head && !ensure_tail(q))
		return false;
	if (q->head_at)
		return true;
	c = segment_get();
	if (!c)
		return false;
	c->prev = NULL;
	c->next = q->head;
	q->head->prev = c;
	q->head = c;
	q->head_at = ENTRIES;
	return true;
}

static FM_FAULT void pushed(struct fm_queue *q, bool ok)
{
	if (ok)
		atomic_fetch_add_explicit(&q->len, 1, memory_order_relaxed);
	else /* The page stays resident until its mapping goes. */
		fm_log(FM_LOG_WARN, "no memory for the eviction queue");
	fm_unlock(&q->lock);
}

FM_FAULT void fm_queue_push(struct fm_queue *q, uint64_t e)
{
	bool ok;

	fm_lock(&q->lock);
	ok = ensure_tail(q);
	if (ok)
		q->tail->e[q->tail_at++] = e;
	pushed(q, ok);
}

FM_FAULT void fm_queue_push_first(struct fm_queue *q, uint64_t e)
{
	bool ok;

	fm_lock(&q->lock);
	ok = ensure_head(q);
	if (ok)
		q->head->e[--q->head_at] = e;
	pushed(q, ok);
}

FM_FAULT bool fm_queue_pop(struct fm_queue *q, uint64_t *ret)
{
	struct fm_queue_segment *c;
	bool ok = false;

	fm_lock(&q->lock);
	c = q->head;
	if (c && (c != q->tail || q->head_at < q->tail_at)) {
		*ret = c->e[q->head_at++];
		atomic_fetch_sub_explicit(&q->len, 1, memory_order_relaxed);
		ok = true;
		if (q->head_at == ENTRIES) {
			q->head = c->next;
			q->head_at = 0;
			if (q->head)
				q->head->prev = NULL;
			else
				q->tail = NULL;
			segment_put(c);
		}
	}
	fm_unlock(&q->lock);
	return ok;
}

/* The last segment is empty, and not the only one. */
static FM_FAULT void drop_tail(struct fm_queue *q)
{
	struct fm_queue_segment *c = q->tail;

	q->tail = c->prev;
	q->tail->next = NULL;
	q->tail_at = ENTRIES;
	segment_put(c);
}

FM_FAULT bool fm_queue_pop_last(struct fm_queue *q, uint64_t *ret)
{
	struct fm_queue_segment *c;
	bool ok;

	fm_lock(&q->lock);
	c = q->tail;
	ok = c && (c != q->head || q->head_at < q->tail_at);
	if (ok) {
		*ret = c->e[--q->tail_at];
		atomic_fetch_sub_explicit(&q->len, 1, memory_order_relaxed);
		if (!q->tail_at && c != q->head)
			drop_tail(q);
	}
	fm_unlock(&q->lock);
	return ok;
}

/* The parent's threads may have been in the middle of anything. */
void fm_queues_forget(void)
{
	fm_lock_reset(&free_lock);
	free_list = NULL;
}
