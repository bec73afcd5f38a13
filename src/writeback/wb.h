/* SPDX-License-Identifier: MIT */
/*
 * wb.h - write-back: dirty pages to the file, in place.
 *
 * A run of neighbouring dirty pages is write-protected, marked FP_WB, and
 * written straight from the program's memory; a store meanwhile makes the
 * page dirty again (FP_REDIRTY). Never past the end of the file. On an error
 * the data stays dirty and the error is kept for msync and fsync.
 */
#pragma once

#include <errno.h>
#include "base/types.h"
#include "base/up.h"
#include "file/file.h"

/* A write-back that failed, or could not be begun without a wait. */
struct fm_file_failed {
	_Atomic uint32_t told; /* the last errno that was said */
	_Atomic uint64_t ms;   /* when it failed last */
	_Atomic bool waits;    /* knows no write that does not wait */
};

/* [any] Write every page of [first, end) that was dirty when called. `wait`:
 * also pages that are locked or in flight right now. 0 or the first -errno. */
int fm_wb_range(struct fm_file *f, uint64_t first, uint64_t end, bool wait);
/* [any] Write page fp, which the caller has locked; it stays locked. 0 or
 * -errno; unless `force`, -EBUSY when a system call is storing into it. */
int fm_wb_locked_page(struct fm_file *f, uint64_t fp, bool force);
/* [any] fm_wb_range of all pages, waiting. */
int fm_wb_file(struct fm_file *f);
/* [any] The same, ahead of need: whether that was of use is measured. `wait`:
 * as in fm_wb_range. */
int fm_wb_ahead(struct fm_file *f, bool wait);
/* [any] What a page costs later that is written ahead of need: ns of its next
 * store, times the share of such pages that are stored to again. */
uint64_t fm_wb_again_ns(void);
/* [any] From now on f is written through the page cache, and no direct write is
 * in flight when this returns. */
void fm_file_mixed(struct fm_file *f);
/* [any] Call fn for each file that has dirty pages, in an epoch, signals
 * blocked. 0 or the first -errno; the others are visited all the same. */
int fm_wb_each(int (*fn)(struct fm_file *f));
/* Another process may have inherited descriptors. */
extern _Atomic bool fm_fds_shared;
/* [any] Make what was written durable (fdatasync). */
int fm_wb_sync(struct fm_file *f);
/* [any] The write-back error of f that nobody has been told, once: 0 or
 * -errno. */
int fm_wb_error(struct fm_file *f);
/* [fault] Wake the write-back thread. check: if more is dirty than the high
 * mark allows. */
void fm_wb_kick(void);
void fm_wb_check(void);
/* [fault] A faulting thread found nothing clean: write a few dirty pages
 * itself (only pages that it can lock at once). Returns how many are clean. */
unsigned fm_wb_some(void);
/* [fault] Write pages that eviction has chosen, of one file, in the order of
 * the file, each locked and dirty, none in flight. Unlocks them; then waits, in
 * an epoch of the caller's. What is stored to meanwhile stays dirty. */
void fm_wb_victims(struct fm_map *const *map, const uint64_t *index,
		   unsigned n);
/* [fault] So many pages that write-back had cleaned ahead of need are stored to
 * again. tight: eviction has found nothing clean. */
void fm_wb_again(uint64_t pages);
void fm_wb_tight(void);
/*
 * [plain] Not more than so many bytes should be dirty, however little it helps
 * to write them: others may need the rest at once. `urgent`: they do. Then
 * dirty pages are written into the page cache, which takes as long as to copy
 * them, and leave: whose memory it is from then on the kernel decides, and
 * whoever takes more waits for the device, as natively.
 */
void fm_wb_allow(uint64_t bytes, bool urgent);
/* [fault] How many pages may be dirty before write-back begins: what wb-high
 * says, or more (wb_limit.c). */
uint64_t fm_wb_most(void);
/* [fault] Has fm_wb_allow said that it is urgent? */
bool fm_wb_urgent(void);
/* [fault] Has write-back of any file failed a moment ago? */
bool fm_wb_failing(void);
/* [any] Has write-back of f, so that only msync and the like should try again
 * now? */
bool fm_wb_refused(const struct fm_file *f);

/* [plain] By the write-back thread, each time before it rests, without a lock.
 * fm_wb_kick wakes it. */
FM_UPCALL(void, wb_idle, void);
