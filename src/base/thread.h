/* SPDX-License-Identifier: MIT */
/*
 * thread.h - threads of the engine, which libc does not know of.
 *
 * pthread_create takes memory from the program's malloc, whose lock the caller
 * may hold; puts stacks into the first hole, which the program may be about to
 * fill; and makes libc (and libstdc++) lock what a program with one thread need
 * not lock. So ours are made by clone(2), with a stack and thread-local
 * variables in memory of ours (tls.h).
 *
 * What they run may not call what of libc locks, allocates, is a cancellation
 * point or looks at struct pthread: libc believes that they are not there, and
 * leaves locks out that they would need. tests/checks/engine_context holds the
 * list of what they reach. What libc does to all threads has to be done to them
 * by us: creds.h.
 *
 * A sanitizer must see each thread: its builds make them by pthread_create.
 */
#ifndef FM_THREAD_H
#define FM_THREAD_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* In the constructor. */
void fm_thread_init(void);

/* [any] Every signal but SIGBUS is blocked in it. It may return. 0 or
 * -errno. */
int fm_thread_create(void *(*fn)(void *), void *arg);
/* First in it: its name, and the CPUs that the process was started on. */
void fm_thread_begin(const char *name);
/* How many those are; 1 if that is not known. */
unsigned fm_cpus(void);

/* The waits of a thread of ours for more work, long ones all of them: like
 * fm_futex_wait and poll(2), but they also end when there is an order for all
 * threads (creds.h), which is carried out. `p` has room for one more than n. */
int fm_thread_wait(_Atomic uint32_t *word, uint32_t val,
		   const struct timespec *timeout);
int fm_thread_poll(struct pollfd *p, unsigned n, int ms);
void fm_thread_sleep_ms(uint64_t ms);

/* Make all threads carry out order number n, and wait until each has, for two
 * seconds at most: how many have not. */
int fm_thread_order(uint32_t n);

/* At the end, where no descriptor is left: give up ours, as far as it is not
 * needed to serve faults. False: there is none. */
bool fm_thread_spare(void);

#endif
