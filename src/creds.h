/* SPDX-License-Identifier: MIT */
/*
 * creds.h - what a program may do, for the threads that libc does not know of.
 *
 * The kernel keeps user and group numbers by thread. libc's setuid() and its like
 * make each thread of libc's do the same; a thread of ours that kept root's in a
 * program that has given them up would be a hole. After such a call all threads of
 * ours take what the calling thread has.
 */
#ifndef FM_CREDS_H
#define FM_CREDS_H

/* [any] The program's threads have got other numbers, by libc; in a program with one
 * thread also by the bare system call, and its capabilities. Returns when all of ours
 * have them too; errno is kept. */
void fm_creds_changed(void);

/* In a thread of ours. */
void fm_creds_take(void);
/* In the child of fork. */
void fm_creds_reset(void);

#endif
