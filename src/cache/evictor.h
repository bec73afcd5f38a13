/* SPDX-License-Identifier: MIT */
/*
 * evictor.h - who evicts: a fault that needs a page (fm_cache_charge, cache.h),
 * and a thread. That keeps a little of a large cache free, so that a fault
 * seldom has to (as kswapd does for the kernel). When it does not keep up the
 * faulting threads evict themselves. It also makes a cache smaller whose limit
 * has been lowered, without waiting for the next fault.
 */
#pragma once

/* [any] Wake it if any cache is larger than it may be. */
void fm_evictor_shrink(void);
