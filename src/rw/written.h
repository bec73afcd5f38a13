/* SPDX-License-Identifier: MIT */
/*
 * written.h - a file that fits into memory and whose mapped pages the program
 * changes by write(2) all the time is better off with the kernel.
 *
 * Each such write has to change our copy, too: five system calls beside the
 * program's own, and a second copy of what the page cache has already. Where
 * the file fits into memory the engine gains nothing by that, so it is handed
 * to the kernel once that has cost as much as the change does (serve/lately.h),
 * and promoted when the page cache cannot hold it any more
 * (mmap/promote_when.c).
 */
#pragma once

#include <stdint.h>

struct fm_file;

/* [any] Pages of f that were mapped have been written, and to change them took
 * so long. Not under page locks. May ask for f to be demoted. */
void fm_written_note(struct fm_file *f, uint64_t ns);
