/* SPDX-License-Identifier: MIT */
/*
 * truncate_barrier.h - the end of a file, shut while it is being changed.
 *
 * Who truncates a file keeps loads and stores out of all that mappings show
 * from the new end on, and that may be a thousand times what the file has: a
 * lock for each of these pages would cost seconds, and memory for every state
 * byte. So the file is shut from there on, and only pages of groups that were
 * touched before are locked. No page has a state, or can be loaded, without
 * its group being touched first. Who has locked a page therefore asks whether
 * it is shut, after touching, and gives it up if so: either he sees that, or
 * who shuts the file sees the group touched, and waits for him at the page.
 */
#pragma once

#include "base/types.h"

struct fm_file_barrier {
	_Atomic uint64_t from; /* first page, or UINT64_MAX */
	_Atomic uint32_t lifted; /* futex: how often */
	/* pages [0, touched_hi) may have a state */
	_Atomic uint64_t touched_hi;
};

/* [fault] Pages [first, stop) of f, which have leaves, may have a state from
 * now on. To be called before fm_is_shut. */
void fm_file_touch(struct fm_file *f, uint64_t first, uint64_t stop);

/* [fault] Must page fp, which is locked, be left alone? */
static inline bool fm_is_shut(const struct fm_file *f, uint64_t fp)
{
	return fp >= atomic_load(&f->barrier->from);
}

/* [fault] Wait until page fp is not shut. The caller has no page locked. */
void fm_barrier_wait(struct fm_file *f, uint64_t fp);

/* [any] Under the space lock until fm_barrier_open: shut f from page `first`
 * on, and remember which groups were touched. None of them begins at or behind
 * *ret_stop, which is not more than stop. */
void fm_shut(struct fm_file *f, uint64_t first, uint64_t stop,
	     uint64_t *ret_stop);
/* [any] f is shut no more. */
void fm_barrier_open(struct fm_file *f);
/* [any] While f is shut: the first page in [fp, stop) of a group that was
 * touched, or stop. */
uint64_t fm_barrier_next(struct fm_file *f, uint64_t fp, uint64_t stop);
