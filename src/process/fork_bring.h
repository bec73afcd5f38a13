/* SPDX-License-Identifier: MIT */
/*
 * fork_bring.h - what a child of fork waits for comes many pages at a time.
 *
 * Where nobody stores, who serves a file goes on with it after a fork, and the
 * child uses the kernel's mapping. Without us it would find in the page cache
 * what its parent has touched. Now that is on the device, and after MADV_RANDOM
 * each fault reads one page of it. So what was resident at the fork is asked
 * for: some of it at once, and the rest by a thread, as long as the child has
 * faults that wait for the device. A child that looks at little costs little.
 */
#pragma once

struct fm_fetch;

/* [plain] Under the space lock, in a child: the mappings are the kernel's.
 * Takes what h holds. */
void fm_fork_bring(struct fm_fetch *h);
