/* SPDX-License-Identifier: MIT */
/*
 * creds.h - what a program may do, for the threads that libc does not know of.
 *
 * The kernel keeps user and group numbers by thread. libc's setuid() and its
 * like make each thread of libc's do the same; a thread of ours that kept
 * root's in a program that has given them up would be a hole. After such a call
 * all threads of ours take what the calling thread has, and the guardian
 * (guardian.h) does: it shares the program's memory, so who has taken the
 * program over has the guardian, too.
 *
 * Capabilities are a thread's own where there are several. What one of them
 * gives up for good (its permitted set) all of ours give up, those that are
 * made later, too; what it puts aside (its effective set) it may take back, and
 * ours keep. So ours never can do more than the one that can do least of those
 * that asked. They need little of it: data goes through descriptors; by name
 * they open a file whose descriptor was closed (fd_recovery.h), /proc, and what
 * the settings name.
 */
#ifndef FM_CREDS_H
#define FM_CREDS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Another process that shares the memory shall have them, too. False: it has
 * not been heard of for two seconds; it will, before it does anything else. If
 * it cannot, it opens nothing by name. NULL: there is none. */
extern bool (*_Atomic fm_creds_follow)(void);

/* In a thread of ours. */
void fm_creds_take(void);
/* The first thing in it, and in the guardian. */
void fm_creds_begin(void);
/* In the guardian: whoever held a lock may be dead. What is read while the
 * program writes it is followed by another order. False: it is another user
 * still. */
bool fm_creds_take_unlocked(void);
/* In the child of fork. */
void fm_creds_reset(void);

#endif
