/* SPDX-License-Identifier: MIT */
/*
 * space.h - which address belongs to which mapping.
 *
 * A radix tree over all addresses (1 GiB, 2 MiB, 4 KiB), where an
 * entry of any level may be a mapping. Readers take no lock; they hold an
 * epoch while they use the mapping, and look again under the page lock,
 * because a mapping may go between the two. Writers hold the space lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/up.h"
#include "file/file.h"

struct fm_map;

/* [fault] While placeholders are left (file/file.h): have any in [addr,
 * addr+len) been filled? In the fault path it is the one exception to the rule
 * of what may be called there. fm_fork_touch looks whether they are. */
FM_UPCALL(bool, fork_touch, uintptr_t addr, size_t len);
bool fm_fork_touch(uintptr_t addr, size_t len);

/* [fault] In an epoch: the mapping at addr, or NULL. */
struct fm_map *fm_space_find(uintptr_t addr);
/* [any] Has there ever been a mapping near [a, end)? Two loads. */
bool fm_space_near(uintptr_t a, uintptr_t end);
/* [fault] First managed address in [addr, end) and its mapping, or NULL. */
struct fm_map *fm_space_next(uintptr_t addr, uintptr_t end,
			     uintptr_t *ret_at);

/* [any] Under the space lock: [start, end) belongs to map from now on, or to
 * nobody (NULL). 0 or -ENOMEM (then nothing has changed for readers of other
 * ranges; NULL never fails where the range was set before as a whole).
 * fm_space_reserve: the next so many calls find memory. */
int fm_space_reserve(size_t ranges);
int fm_space_set(uintptr_t start, uintptr_t end, struct fm_map *map);
/* [any] Addresses outside of all ranges that have ever been named here are
 * nobody's. */
void fm_space_bounds(uintptr_t start, uintptr_t end);
