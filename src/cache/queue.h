/* SPDX-License-Identifier: MIT */
/*
 * queue.h - FIFO of 64-bit entries in chained segments. Memory follows the
 * number of entries; segments are recycled and never given back. All [fault],
 * unless it says more: the lock is a leaf, held for a few instructions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

struct fm_queue_segment;

struct fm_queue {
	struct fm_lock lock;
	struct fm_queue_segment *head, *tail; /* pop from head, push at tail */
	uint32_t head_at, tail_at;
	_Atomic uint64_t len;
};

void fm_queue_push(struct fm_queue *q, uint64_t e);
bool fm_queue_pop(struct fm_queue *q, uint64_t *ret);
/* Like push and pop at the other ends. */
void fm_queue_push_first(struct fm_queue *q, uint64_t e);
bool fm_queue_pop_last(struct fm_queue *q, uint64_t *ret);
/* [plain] In the child of fork: the queues are cleared by whoever has them. */
void fm_queues_forget(void);

static inline uint64_t fm_queue_len(struct fm_queue *q)
{
	return atomic_load_explicit(&q->len, memory_order_relaxed);
}
