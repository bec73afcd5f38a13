/* SPDX-License-Identifier: MIT */
/*
 * event.h - threads wait for something that others bring about (an event count,
 * Reed and Kanodia, CACM 22(2), 1979).
 *
 *	who waits                               who brings it about
 *	for (;;) {
 *		seen = fm_event_seen(&e);       it is there now;
 *		if (it is there) break;         fm_event_raise(&e);
 *		fm_event_wait(&e, seen);
 *	}
 *
 * Nothing is lost: raise counts first and looks for sleepers then, a waiter
 * counts itself first and lets the kernel compare the count then. One of the
 * two sees the other.
 *
 * Raise makes a system call only if somebody sleeps, and one for each sleeper:
 * it takes him off `sleepers` before it wakes him, so that those who come
 * before he runs do not wake him again. A waiter who does not get to sleep,
 * since the count has moved, leaves his mark in `sleepers`: one raise will call
 * the kernel in vain. Taking it back could take another sleeper's; only where
 * no more than one thread ever waits it is safe (fm_event_wait_alone), for then
 * there is no other, and what is 0 stays 0.
 */
#pragma once

#include "sys.h"
#include "thread.h"

struct fm_event {
	_Atomic uint32_t count; /* futex */
	_Atomic uint32_t sleepers;
};

/* [fault] Before the look whether to wait. */
static inline uint32_t fm_event_seen(struct fm_event *e)
{
	return atomic_load(&e->count);
}

/* [fault] Does anybody sleep? A hint: what is only raised if so may be lost. */
static inline bool fm_event_waited(struct fm_event *e)
{
	return atomic_load_explicit(&e->sleepers, memory_order_relaxed) != 0;
}

/* One sleeper less, if there is any. */
static inline bool fm_event_take_sleeper(struct fm_event *e)
{
	uint32_t n = atomic_load(&e->sleepers);

	while (n)
		if (atomic_compare_exchange_weak(&e->sleepers, &n, n - 1))
			return true;
	return false;
}

/* [fault] Wakes one sleeper. */
static inline void fm_event_raise(struct fm_event *e)
{
	atomic_fetch_add(&e->count, 1);
	if (fm_event_take_sleeper(e))
		fm_futex_wake(&e->count, 1);
}

/* [fault] Sleep unless it has been raised since `seen`. */
static inline void fm_event_wait(struct fm_event *e, uint32_t seen)
{
	atomic_fetch_add(&e->sleepers, 1);
	fm_futex_wait(&e->count, seen, NULL);
}

/* [plain] fm_event_wait for a thread of ours, which is the only one that ever
 * waits for this event; it also carries out orders for all threads (thread.h).
 * 0, or -ETIMEDOUT and the like. */
static inline int fm_event_wait_alone(struct fm_event *e, uint32_t seen,
				      const struct timespec *timeout)
{
	int err;

	atomic_store(&e->sleepers, 1);
	err = fm_thread_wait(&e->count, seen, timeout);
	atomic_store(&e->sleepers, 0);
	return err;
}

/* [plain] The same for ms, or until it is raised; not at all once *stop is set,
 * which is set before it is raised. */
static inline void fm_event_sleep_ms(struct fm_event *e,
				     const _Atomic bool *stop, uint64_t ms)
{
	const struct timespec t = fm_timespec_ms(ms);
	const uint32_t seen = fm_event_seen(e);

	if (!atomic_load(stop))
		fm_event_wait_alone(e, seen, &t);
}

/* [plain] In the child of fork: nobody sleeps here. */
static inline void fm_event_reset(struct fm_event *e)
{
	atomic_store(&e->sleepers, 0);
}
