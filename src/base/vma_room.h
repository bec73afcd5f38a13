/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * vma_room - mappings kept free of vm.max_map_count.
 *
 * A change of several mappings that has begun must not end in the middle since
 * the program has meanwhile made as many mappings as it may. So what it needs
 * is held from before the first, as mappings of nothing, and given up where
 * the kernel has no more.
 */
#include <stdbool.h>
#include <stddef.h>

struct fm_vma_room {
	char *at;
	size_t len, left; /* bytes */
};

/* [any] For n changes, each of which may make three mappings of one. Neighbours
 * differ, or the kernel would join them. 0, or -errno: nothing is held. */
int fm_vma_room_take(struct fm_vma_room *r, size_t n);
/* [any] What one change needs. False: nothing is left. */
bool fm_vma_room_give(struct fm_vma_room *r);
/* [any] What is left. */
void fm_vma_room_end(struct fm_vma_room *r);
