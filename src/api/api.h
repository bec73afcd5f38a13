/* SPDX-License-Identifier: MIT */
/*
 * api.h - inside api/: what a program asks by fastmap.h, in terms of the
 * engine. What the shim calls of it stands in engine.h.
 */
#pragma once

#include "base/types.h"
#include "fastmap.h"

/* Addresses, whole pages; nothing: start == end. */
struct fm_api_range {
	uintptr_t start, end;
};

static inline struct fm_api_range fm_api_range(const struct fastmap_range *r)
{
	const uintptr_t a = (uintptr_t)r->addr & ~(uintptr_t)FM_PAGE_MASK;
	const uintptr_t end = (uintptr_t)r->addr + r->len;
	const bool is = r->len && end > a && end <= UINTPTR_MAX - FM_PAGE;

	return (struct fm_api_range){ a, is ? fm_page_up(end) : a };
}
