/* SPDX-License-Identifier: MIT */
/*
 * ending.h - what the process holds is released when it ends, not after.
 *
 * The kernel takes rings apart in a thread of its own, 40 to 240 ms after the
 * last user of the memory has gone, and until then their files are open: a file
 * system cannot be unmounted, what was written cannot be executed. And the
 * guardian, which shares the memory, keeps every mapping in it until it has
 * ended, too. So before the end (and before another program takes the place of
 * this one) the files leave the rings, which is done when the system call
 * returns, and the guardian is ended and waited for. Where other threads may go
 * on storing until the kernel stops them, mappings become the kernel's first.
 * And the guardian is a child of the program: what is left of it at the end, or
 * after an exec, is somebody else's to reap, who has never heard of it.
 */
#pragma once

#include <stdbool.h>

/* [plain] Everything has been flushed. `exec`: it may fail, and then the
 * program goes on. Where something is dirty still, or cannot be demoted, all
 * stays as it is. */
void fm_ending(bool exec);
