/* SPDX-License-Identifier: MIT */
/*
 * served.h - what the library has done in one run: the sum of the statistics
 * that each process of it has left in a folder.
 */
#pragma once

#include <stdint.h>

struct served {
	unsigned processes;
	uint64_t files, faults, read; /* bytes */
	uint64_t cache;               /* bytes, the largest limit */
	char left[512]; /* "app.idx: already in the page cache", or "" */
};

/* Reads the documents of a folder, and removes them. */
void served_take(const char *folder, struct served *ret);
