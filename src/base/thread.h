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
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "up.h"

/* [plain] In the constructor. */
void fm_thread_init(void);

/* [any] Make a thread that runs fn(arg), with every signal but SIGBUS blocked.
 * fn may return. 0 or -errno. */
int fm_thread_create(void *(*fn)(void *), void *arg);
/* [any] Before one is made that calls fm_thread_poll: it is woken by a
 * descriptor, which the others do not need. */
void fm_thread_will_poll(void);
/* [plain] First in a thread: its name, and the CPUs that the process was
 * started on. */
void fm_thread_begin(const char *name);
/* [plain] How many CPUs the process was started on; 1 if that is not known. */
unsigned fm_cpus(void);

/* [plain] How a thread of ours waits for more work: like fm_futex_wait and
 * poll(2) (ms -1: for ever), but they also end when there is an order for all
 * threads (creds.h), and carry it out. `p` has room for n + 1. */
int fm_thread_wait(_Atomic uint32_t *word, uint32_t val,
		   const struct timespec *timeout);
int fm_thread_poll(struct pollfd *p, unsigned n, int ms);
void fm_thread_sleep_ms(uint64_t ms);
/* [any] Carry out an order, if there is one: who has always more to do and does
 * not wait. */
void fm_thread_obey(void);
struct timespec fm_timespec_ms(uint64_t ms);
/* [any] Wait for a thread that has been told to end, up to 100 ms: as long as
 * its state is `running`. */
void fm_thread_leaves(const _Atomic int *state, int running);

/* [any] The calling thread gets a table of descriptors of its own, which is
 * empty. False where the kernel has no such call, or refuses it. */
bool fm_thread_fds_close(void);
/* [any] The same for good: one of ours counts as one without the program's from
 * then on. */
bool fm_thread_fds_leave_for_good(void);
/* In place of a number, before the kernel writes it: a thread is there before
 * its number is. */
#define FM_THREAD_BEING_MADE UINT32_MAX
/* [any] Has the calling thread, one of ours, the program's descriptors? Then it
 * counts as one without them until they are back, and another (apart.h), whose
 * number belongs where this says, as one of ours; else NULL. */
_Atomic uint32_t *fm_thread_fds_leave(void);
void fm_thread_fds_back(void);
/* [fault] Is it one of ours with a table of descriptors of its own? */
bool fm_thread_without_fds(void);

/* [any] The number of a thread of ours, from place *i on; *i: its place. 0:
 * there is none. */
int fm_thread_from(uint32_t *i);
/* [any] Is the thread with this number, which is not 0, one of ours? No more
 * when it has ended. */
bool fm_thread_is(int tid);
/* [any] Is the caller one of ours that no filter of the program's holds? It may
 * make any call, where others may not (fm_sys_may_ask). */
bool fm_thread_is_free(void);
/* [any] Is there one whose number is not known yet? */
bool fm_thread_being_made(void);

/* [plain] First in each thread of ours; and to carry out an order, in each. */
FM_UPCALL(void, thread_begins, void);
FM_UPCALL(void, thread_ordered, void);
/* [any] Make all threads carry out order number n, the calling one too, and
 * wait until each has, for two seconds at most. Returns how many have not. */
int fm_thread_order(uint32_t n);

/* [any] End all threads of ours where they wait for work, and wait for that up
 * to `ms`. False: some are busy, and go on. */
bool fm_thread_end_all(unsigned ms);

/* [plain] Where no descriptor is left: give up the eventfd by which threads in
 * fm_thread_poll are woken. False: it has gone already. */
bool fm_thread_spare(void);
