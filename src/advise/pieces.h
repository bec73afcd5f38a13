/* SPDX-License-Identifier: MIT */
/* pieces.h - is a span that has been touched one of a row, or a touch here or
 * there? [plain] */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_PIECES 32 /* size: the last ones, one of which may go on */

struct fm_piece {
	uintptr_t start, end;
	uintptr_t from;  /* all from here on came, one page after the other, */
	uintptr_t asked; /* or was asked for, up to here */
	uint32_t look;   /* it came in, */
	uint32_t looks;  /* the last of so many in which it grew */
};

struct fm_recent {
	struct fm_piece recent[FM_PIECES];
	unsigned next, last;
	uint32_t look;
};

/* Is it so short that one touch may show it, and beside none of those before?
 * It is one of them from now on. */
bool fm_piece_single(struct fm_recent *p, uintptr_t start, uintptr_t end);
/* The one of which that was told. */
struct fm_piece *fm_piece_last(struct fm_recent *p);
/* What comes from now on is seen in another look. */
void fm_pieces_next_look(struct fm_recent *p);
