/* SPDX-License-Identifier: MIT */
/* bounce.h - buffers that demand reads land in before they are installed.
 * [fault] safe except start. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FM_BOUNCE ((size_t)256 << 10) /* size: bytes of one buffer */

struct fm_bounce {
	_Atomic uint32_t taken;
	void *mem;
	char pad[48]; /* a cache line */
};


/* A buffer for this thread alone. Waits when all (256) are in use; who has
 * one waits for nothing but the device and the page tables. */
struct fm_bounce *fm_bounce_get(void);
void fm_bounce_put(struct fm_bounce *b);
