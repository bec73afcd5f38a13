/* SPDX-License-Identifier: MIT */
/*
 * evictor.h - a thread that keeps a little of a large cache free, so that a
 * fault seldom has to evict (as kswapd does for the kernel). When it does not
 * keep up the faulting threads evict themselves.
 */
#ifndef FM_EVICTOR_H
#define FM_EVICTOR_H

int fm_evictor_start(void);
void fm_evictor_reset(void); /* child of fork */

/* [fault] Wake the thread if the cache is nearly full. */
void fm_evictor_check(void);

#endif
