/* SPDX-License-Identifier: MIT */
/*
 * mem_bell.h - what wakes the thread that watches memory (mem_monitor.h), for
 * those that it calls itself.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/event.h"

extern struct fm_event fm_mem_bell;
extern _Atomic bool fm_mem_rests; /* looks come rarely */
extern _Atomic bool fm_mem_woken;

/* [fault] The engine is used: memory is to be looked at at once. While nothing
 * is in the cache that is done once a second; while nothing comes into it or
 * leaves it, and as much memory is left as before, more and more rarely. */
static inline void fm_mem_monitor_wake(void)
{
	if (!atomic_load(&fm_mem_rests))
		return;
	atomic_store(&fm_mem_woken, true);
	fm_event_raise(&fm_mem_bell);
}
