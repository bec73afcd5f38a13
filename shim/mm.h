/* SPDX-License-Identifier: MIT */
/*
 * mm.h - what every hook is made of that changes the address space (mm.c,
 * shm.c).
 */
#pragma once

#include "shim.h"

#include <sys/mman.h>

static inline bool managed(const void *addr, size_t len)
{
	return fm_active() && fm_overlaps(addr, len);
}

static inline bool is_mapped(const void *p)
{
	return p != MAP_FAILED;
}

/* What a call returns that may have made pages inaccessible, see user.c. */
#define TAKES_PAGES(call)                                                  \
	({                                                                 \
		const bool counted_ = fm_user_unmaps();                    \
		const __typeof__(call) r_ = (call);                        \
                                                                           \
		fm_user_unmapped(counted_);                                \
		r_;                                                        \
	})
