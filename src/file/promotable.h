/* SPDX-License-Identifier: MIT */
/*
 * promotable.h - files that the kernel serves for now: their cause may pass.
 *
 * What the engine had (vm/demote.c) it may promote while threads use it
 * (mmap/promote.h). Until then the hooks look (fm_looks): the engine has to
 * know of calls that use the memory, or change the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;

/* [any] Under the space lock: f, which has just been demoted, may come back; or
 * not any more. A second time does no harm. */
void fm_file_passes(struct fm_file *f, bool yes);

/* [any] Under the space lock: it could not be promoted now. */
void fm_file_wait_again(struct fm_file *f);
