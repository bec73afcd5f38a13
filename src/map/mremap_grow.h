/* SPDX-License-Identifier: MIT */
/*
 * mremap_grow.h - mappings that get longer by mremap. What comes behind the
 * pieces is a mapping of its own with mode bytes to spare, which the next
 * growth uses: a file that is appended to page by page has as many pieces as
 * its size has doubled. All [any], under the space lock. Lengths are bytes.
 */
#pragma once

#include "base/types.h"

/* One file range, one kind, no gap? Then the kernel would have one vma. */
struct fm_same {
	struct fm_map *first, *last;
	uintptr_t at;
	uint64_t pgoff;
};

/* fm_map_fn over a range, arg: a struct fm_same. -EFAULT: the mappings of the
 * range are not so. */
int fm_same_check(struct fm_map *m, void *arg);

/* A mapping that goes on where the pieces end, when they grow. Not yet placed.
 * NULL without memory. */
struct fm_map *fm_tail_new(const struct fm_same *s, size_t len);
void fm_tail_publish(struct fm_map *t, uintptr_t start);
void fm_map_place(struct fm_map *m, uintptr_t start);

/* The pieces at a grow from old_len to new_len where they are. 0, -ENOMEM or
 * what the kernel says. */
int fm_mremap_grow_in_place(const struct fm_same *s, uintptr_t a,
			    size_t old_len, size_t new_len);
