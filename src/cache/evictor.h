/* SPDX-License-Identifier: MIT */
/*
 * evictor.h - a thread that keeps a little of a large cache free, so that a
 * fault seldom has to evict (as kswapd does for the kernel). When it does not
 * keep up the faulting threads evict themselves. It also makes a cache smaller
 * whose limit has been lowered, without waiting for the next fault.
 */
#pragma once

/* [fault] Wake the thread if a large cache is nearly full. */
void fm_evictor_check(void);
/* [any] Wake it if any cache is larger than it may be. */
void fm_evictor_shrink(void);
