/* SPDX-License-Identifier: MIT */
/*
 * asked.h - what the program has asked for ahead (fastmap_prefetch) where the
 * kernel serves it: the kernel is asked to read it, in a thread of ours, for
 * that may wait for the device. Half of the free memory at most is filled so,
 * as long as one request follows another.
 */
#pragma once

#include <stdint.h>

/* [any] Read [start, end) soon, for these tickets (base/ticket.h). Whatever is
 * mapped there. */
void fm_asked_add(uintptr_t start, uintptr_t end, uint64_t tickets);
/* [any] Bytes that the kernel has been asked for so, in all. */
uint64_t fm_asked_bytes(void);
/* [any] The thread has ended when this returns, or a hundred milliseconds
 * later. What has been asked for by then is given up. */
void fm_asked_end(void);
