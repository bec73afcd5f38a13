/* SPDX-License-Identifier: MIT */
/*
 * helper.h - the thread that advises what the kernel serves (advised.h).
 *
 * It is there while there are such ranges and the process may be helped. It
 * sleeps while nothing is read, takes a hundredth of a CPU at most but for the
 * first moments, a few looks where the program does something else, and what it
 * takes to read ahead, and ends where it may not do what it must.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [any] There is a range: the thread starts, unless it is there. */
void fm_helper_need(void);
/* [plain] In a child of fork, first and last of all: in between threads are
 * forgotten, and none may be made. */
void fm_helper_fork_begins(void);
void fm_helper_fork_ends(void);

/* [any] By which source it goes; "waits": for the first read; NULL: it is not
 * there. */
const char *fm_helper_source(void);

/* For the statistics. */
struct fm_advise_counts {
	_Atomic uint64_t changes, looks, touches, random_bytes, huge_bytes;
	_Atomic uint64_t cpu_us;
};
extern struct fm_advise_counts fm_advise_counts;
