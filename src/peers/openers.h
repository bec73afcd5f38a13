/* SPDX-License-Identifier: MIT */
/*
 * openers.h - which processes have a file open, as far as events tell.
 *
 * An event names a process, or none (0: inotify, or where we may not know).
 * What is told is not exact: opens may be told as one, and what a process has
 * mapped may be closed by another that shared its memory. So who has ended has
 * nothing open. [plain] One thread writes, any may read.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#define FM_OPENERS 8

struct fm_openers {
	struct {
		_Atomic int pid;
		_Atomic int open;  /* times, as far as events told */
	} of[FM_OPENERS];
	_Atomic bool crowd;        /* more than these at once */
};

void fm_openers_opened(struct fm_openers *o, int pid);
/* One without an open was before we watched. */
void fm_openers_closed(struct fm_openers *o, int pid);
void fm_openers_forget(struct fm_openers *o);
/* The processes that have opened it lately; 0: not known of all. */
int fm_openers_pids(const struct fm_openers *o, int pids[FM_OPENERS]);
/* Has it open somebody who is named, and whose descriptors we may not see? */
bool fm_openers_hidden(const struct fm_openers *o);
/* May somebody have it open who is not named, or is one of a crowd? */
bool fm_openers_unnamed(const struct fm_openers *o);
