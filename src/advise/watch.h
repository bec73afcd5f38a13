/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a thread that looks once a second at what the kernel serves: does
 * the program wait for it (mmap/losing.h)?
 *
 * It is there while there are such ranges that may be advised and the engine
 * does not run, which has a thread for that, and has the program's descriptors:
 * the thread that advises (helper.h) has a table of its own, in which nothing
 * can be opened for the engine. While nothing is read it sleeps. Not where
 * nothing is ever taken back (`take-back = 0`).
 */
#ifndef FM_WATCH_H
#define FM_WATCH_H

/* [any] There is a range: the thread starts, unless it is there. */
void fm_watch_need(void);
/* [any] It has ended when this returns, or a hundred milliseconds later. */
void fm_watch_end(void);
/* [plain] In a child of fork, where it is not. It comes with the next range. */
void fm_watch_forked(void);

/* [any] Something is read again, or the engine runs. */
void fm_watch_wake(void);

/* What it does; before the first range. [plain] */
extern void (*fm_watch_look)(void);

#endif
