/* SPDX-License-Identifier: MIT */
/* pieces.h - is a span that has been touched one of a row, or a touch here or
 * there? [plain] */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_PIECES 32 /* size: the last ones, one of which may go on */

struct fm_recent {
	struct {
		uintptr_t start, end;
	} recent[FM_PIECES];
	unsigned next;
};

/* Is it so short that one touch may show it, and beside none of those before?
 * It is one of them from now on. */
bool fm_piece_single(struct fm_recent *p, uintptr_t start, uintptr_t end);
