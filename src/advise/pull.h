/* SPDX-License-Identifier: MIT */
/*
 * pull.h - what a late stream wants, read by threads that wait for it.
 *
 * However it is asked, the kernel reads from a device by read_ahead_kb at a
 * time, and FUSE takes 12 such requests at once unless the server asks for
 * more. Only a fault in a mapping with MADV_HUGEPAGE reads 4 MiB by requests as
 * long as the file system takes. So each thread has a page of the address space
 * to which it lays a second view of a page of the program's, with that advice,
 * and has it faulted in (MADV_POPULATE_READ: an error is a number, no signal).
 * The program's mapping stays as it is, nothing of it is mapped in, and the
 * kernel waits for the device without a lock of the address space: munmap,
 * fork and exit of the program do not wait for these threads.
 *
 * The file is not opened anew: that drops what FUSE has cached of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "krange.h"

#define FM_PULLED ((uintptr_t)4 << 20) /* ABI: what such a fault reads, bytes */

/* [plain] May r be read so, where so many bytes may be ahead? */
bool fm_pull_may(const struct fm_krange *r, uint64_t most);
/* [plain] Bytes ahead of who goes through so many a ms that are under way or
 * there when it is looked at each ms milliseconds. */
uint64_t fm_pull_bytes(uint64_t rate, uint64_t ms);
/* [plain] What has been asked for and not begun is forgotten. */
void fm_pull_forget(void);
/* [plain] Read what is not there of [start, end) of r, in that order. False:
 * there is no thread for it. */
bool fm_pull(const struct fm_krange *r, uintptr_t start, uintptr_t end);
/* [any] No more of it: threads that wait for no device have ended. */
void fm_pull_end(void);
/* [any] Bytes that have come since this was asked last. */
uint64_t fm_pull_take(void);
