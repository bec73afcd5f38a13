/* SPDX-License-Identifier: MIT */
/*
 * victims.h - dirty pages whose turn it is to leave, of a file that is written
 * to make room alone (file/heap_file.h): they are written when they leave, not
 * before. What is written ahead of need there is mostly stored to again, and
 * written twice. All [fault].
 */
#pragma once

#include "file/file.h"

#define FM_VICTIMS 64 /* size: pages, written at once */

/* In the order of the file. */
struct fm_victims {
	struct fm_map *map[FM_VICTIMS];
	uint64_t index[FM_VICTIMS];
	uint64_t entry[FM_VICTIMS]; /* that stood for it (entries.h) */
	unsigned n;
};

/* Page i of m is locked, and dirty: is it such a one, and is there room for it?
 * Then it stays locked. */
bool fm_victims_add(struct fm_victims *v, struct fm_map *m, uint64_t i,
		    uint64_t entry);
/* Write and unlock them. The list is full from then on. */
void fm_victims_write(struct fm_victims *v);
