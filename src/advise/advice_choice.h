/* SPDX-License-Identifier: MIT */
/*
 * advice_choice.h - which advice a segment of an advised range gets: the one
 * that costs less.
 *
 * What a look has seen costs with either advice (advice_cost.h):
 *  - as the kernel reads of its own accord (MADV_NORMAL), a touch here or there
 *    reads more than it uses;
 *  - with MADV_RANDOM, a page of a row is a read of its own;
 *  - what fits into memory is read once with either, so that nothing is in
 *    vain, and MADV_RANDOM loses what is read along. Pages there also gain
 *    nothing by being used (Linux 6.4), and a scan drives them out.
 *
 * By that a segment, an advised range (together with the processes of the
 * family) and all advised ranges have an opinion each. The smallest that has
 * one decides. Who changes it has news, and those below forget theirs. Where
 * nobody has one the advice stays what it is; at the beginning it is the one of
 * which to be wrong costs less until that is seen. [plain]
 */
#pragma once

#include "advised.h"

/* [any] Is it better that what has just been mapped of dev begins at
 * MADV_RANDOM? As fm_advised_begin would find, which may come after the first
 * touch. */
bool fm_advised_begin_random(dev_t dev);
/* New advised ranges begin. -errno: the kernel refuses to be advised. */
int fm_advised_begin(struct fm_advised_all *all);
/* After touches have been told, of so many thousandths of the ranges: use of
 * the time since the last call. As fm_advised_begin. */
int fm_advised_judge(struct fm_advised_all *all,
		     const struct fm_advised_use *use, unsigned part);
/* Nothing has been read for that long. */
void fm_advised_quiet(struct fm_advised_all *all,
		      const struct fm_advised_use *use);
/* In a child of fork: what its parent has read was its parent's. What is known
 * of each file stays. */
void fm_advised_forked(struct fm_advised_all *all);
/* Nobody looks any more: these are as they would be natively. */
void fm_advised_leave(struct fm_advised_all *all);
