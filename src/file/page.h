/* SPDX-License-Identifier: MIT */
/*
 * page.h - the lock in every page's state byte, and waiting for it.
 *
 * Sleepers wait on one of a fixed number of futex words, chosen by the
 * address of the state byte: 4 bytes per waiter bucket instead of a word per
 * page. All [fault] safe. The holder of FP_BUSY must have every signal
 * blocked, or a handler of its own thread could fault on the same page.
 */
#pragma once

#include "base/lock.h"
#include "base/types.h"

#define FM_WAIT_BUCKETS 1024

struct fm_wait_bucket {
	_Atomic uint32_t seq;
	_Atomic uint32_t sleepers;
	char pad[FM_CACHELINE - 8];
};
extern struct fm_wait_bucket fm_wait_buckets[FM_WAIT_BUCKETS];

static inline struct fm_wait_bucket *fm_bucket(const void *p)
{
	uint64_t h = (uintptr_t)p * 0x9e3779b97f4a7c15ull;

	return &fm_wait_buckets[h >> 54];
}

static inline bool fm_page_trylock(_Atomic uint8_t *p)
{
	uint8_t v = atomic_load_explicit(p, memory_order_relaxed);

	while (!(v & FP_BUSY))
		if (atomic_compare_exchange_weak(p, &v, v | FP_BUSY)) {
			fm_check_page_got(p);
			return true;
		}
	return false;
}

/* Sleep until (*p & mask) may have become zero. */
void fm_page_sleep(_Atomic uint8_t *p, uint8_t mask);

static inline void fm_page_wait(_Atomic uint8_t *p, uint8_t mask)
{
	fm_check_page_ask(p);
	fm_page_sleep(p, mask);
}

static inline void fm_page_lock(_Atomic uint8_t *p)
{
	fm_check_page_ask(p);
	while (!fm_page_trylock(p))
		fm_page_wait(p, FP_BUSY);
}

/* By who has set FP_WB, to clear it; whatever else it has locked: a thread
 * that locks a page in FP_WB waits for no other page while it has it. */
static inline void fm_page_lock_wb(_Atomic uint8_t *p)
{
	while (!fm_page_trylock(p))
		fm_page_sleep(p, FP_BUSY);
}

void fm_page_wake(_Atomic uint8_t *p);

/* The holder may change any bit: nobody else does while FP_BUSY is set. */
static inline uint8_t fm_page_state(_Atomic uint8_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static inline void fm_page_set(_Atomic uint8_t *p, uint8_t on, uint8_t off)
{
	uint8_t v = atomic_load_explicit(p, memory_order_relaxed);

	atomic_store(p, (uint8_t)((v | on) & ~off));
}

static inline void fm_page_unlock(_Atomic uint8_t *p)
{
	fm_check_page_put(p);
	atomic_fetch_and(p, (uint8_t)~FP_BUSY);
	if (atomic_load(&fm_bucket(p)->sleepers))
		fm_page_wake(p);
}

/* When nothing of it is being written back: the holder may drop it. */
static inline void fm_page_lock_idle(_Atomic uint8_t *p)
{
	for (;;) {
		fm_page_lock(p);
		if (!(fm_page_state(p) & FP_WB))
			return;
		fm_page_unlock(p);
		fm_page_wait(p, FP_WB);
	}
}
