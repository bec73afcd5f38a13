/* SPDX-License-Identifier: MIT */
/*
 * apart.h - a process for a moment that shares our memory but not our
 * descriptors: what it opens and closes is not the program's, and closing a
 * descriptor drops no record lock of the program's.
 */
#ifndef FM_APART_H
#define FM_APART_H

/* [fault] Run fn, which makes raw system calls only, in such a process, and
 * wait for it. 0, -errno. */
int fm_apart(void (*fn)(void *arg), void *arg);
/* NULL, or who is told its number: it may open a file on our behalf. [fault] */
extern void (*fm_apart_begun)(int pid);

#endif
