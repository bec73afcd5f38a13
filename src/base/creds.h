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
 * made later, too; what it puts aside (its effective set) it may take up again,
 * and ours keep. So ours never can do more than the one that can do least of
 * those that asked. They need little of it: data goes through descriptors; by
 * name they open a file whose descriptor was closed (fd_recovery.h), /proc, and
 * what the settings name.
 *
 * What a program does by instructions of its own no hook sees. So once a
 * second, and before it acts for somebody, a thread of ours looks whether it
 * may do what no thread of the program's may any more, for good: one of the
 * permitted capabilities, which root gives up with its number. Then it does as
 * above with what the main thread has. Numbers that may be taken up again
 * (seteuid, setfsuid) are not followed there: some servers change them for each
 * request.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "up.h"

/* [plain] Another process that shares the memory takes the credentials, too.
 * False: nothing has been heard of it for two seconds; it will take them before
 * it does anything else. If it cannot, it opens nothing by name. */
FM_UPCALL(bool, creds_follow, void);

/* [plain] In the guardian, and first in each thread of ours: give up the
 * capabilities that a thread of the program has given up, and all that an exec
 * could bring. */
void fm_creds_begin(void);
/* [plain] In the guardian: take what the program has, as each thread of ours
 * does, but without the lock, whose holder may be dead. What is read while the
 * program writes it is followed by another order. False: the guardian is still
 * another user. */
bool fm_creds_take_unlocked(void);
/* [any] Follow what no hook has seen. Two system calls where nothing is. */
void fm_creds_look(void);
