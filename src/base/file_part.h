/* SPDX-License-Identifier: MIT */
/*
 * file_part.h - what a room keeps of each file, which nobody else knows.
 *
 * struct fm_file has a pointer for each part, and the header of the room that
 * the part is of has its definition. A file of that room says so, for the
 * linker (up.h):
 *
 *      FM_FILE_PART(shares)
 *
 * and fm_file_alloc makes a file and all its parts as one, zeroed.
 */
#pragma once

#include "types.h"
#include "up.h"

struct fm_file_part {
	size_t size;
	size_t at; /* of the pointer in struct fm_file */
};
FM_UP_STRUCT(const struct fm_file_part, file_part);

#define FM_FILE_PART(part)                                                \
	static const struct fm_file_part file_part_##part = {             \
		sizeof(*((struct fm_file *)NULL)->part),                  \
		offsetof(struct fm_file, part)                            \
	};                                                                \
	FM_UP(file_part, file_part_##part)

/* [plain] NULL without memory. fm_free gives all of it back. */
struct fm_file *fm_file_alloc(void);
