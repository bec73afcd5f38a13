/* SPDX-License-Identifier: MIT */
/*
 * inflight_io.h - read and write calls of the program that are not held up.
 *
 * As long as no file has been stored to through a mapping of ours, a read shows
 * what the mappings show, whatever the file: nobody needs to find out which it
 * is. That a mapping may be stored to is not enough: most that are only read
 * have a descriptor that is open for writing. The first page that is marked
 * dirty says so, and reads look from then on. One that began before may
 * still be filling the page cache when the page is written, and a direct write
 * that collides with it leaves old data there: before the first direct write
 * the reads in flight are looked at, and if one of them may be of this file, it
 * is written through the page cache from the start.
 *
 * A write to a file that nobody has mapped passes as well. When the file is
 * mapped meanwhile, what we load may be older than what that write brings, and
 * nobody would drop it: the first mapping waits for writes that began before.
 *
 * Why no read is missed (all accesses named here are seq_cst, so they have one
 * order). Who reads: (1) takes a slot, (2) loads the count of stored files,
 * (3) if it is 0, reads without a look, (4) leaves the slot. Who stores first:
 * (a) counts the file, (b) marks the page dirty, (c) stores. Who writes
 * back: (d) finds the page dirty, (e) looks at all slots, (f) writes. (a) comes
 * before (d), for (d) sees (b).
 *  - (2) before (a): then (1) before (e), which finds the slot, unless the
 *    read has left it, and so has ended before (f).
 *  - (a) before (2): the read looks. Our file was published before its first
 *    page could be dirty, and whoever finds it flushes it first. A file that
 *    was nobody's at that look, and is mapped and stored to later, is of the
 *    first kind: its reader is in the slot.
 * Many threads may do (a) for one file; each counts before it marks a page, and
 * all but one take their count back after the file says that it is counted.
 *
 * What a slot names is a descriptor, and that may be closed and be another file
 * while the read goes on. So calls that close are counted, when they begin and
 * when they have ended, and a slot has the number of those that had ended when
 * it was taken. As many have begun: none was under way then, none has come
 * since, the descriptor is what it was. Else it may be any file. (The system
 * call instructions of others are not counted.)
 *
 * What the shim calls is in engine.h. All lock-free, but fm_writes_wait.
 */
#pragma once

#include <stdbool.h>

#include "serve/serve.h"

/* System calls of the program. */
struct fm_file_calls {
	_Atomic bool stored; /* to, through a mapping, ever */
	_Atomic bool reads_over; /* those that began before that */
	_Atomic uint64_t changed_ms; /* by one of them, last */
	struct fm_lately followed; /* in pages that are mapped */
};

struct fm_file;
struct stat;

/* [plain] The file has just got its first mapping, which nobody knows yet: wait
 * until no write is in flight that did not see it. False: one takes long. */
bool fm_writes_wait(const struct stat *st);

/* [fault] Before the first page of f is marked dirty: from now on reads look
 * which file they are of. */
void fm_inflight_stored(struct fm_file *f);
/* [any] f is closed. Also where fm_inflight_stored was never called. */
void fm_inflight_forget(struct fm_file *f);
/* [any] Does any file count as stored to? */
bool fm_inflight_any_stored(void);
/* [fault] May a dirty page of f be written directly? Not if a read of f may be
 * in flight that has not looked: then f is written through the page cache for
 * good. */
bool fm_inflight_allow_direct(struct fm_file *f);
