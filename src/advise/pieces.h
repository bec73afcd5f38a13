/* SPDX-License-Identifier: MIT */
/* pieces.h - is a span that has been touched one of a row, or a touch here or
 * there? The helper thread's own. [plain] */
#ifndef FM_PIECES_H
#define FM_PIECES_H

#include <stdbool.h>
#include <stdint.h>

/* It lies beside one of those before. */
bool fm_piece_goes_on(uintptr_t start, uintptr_t end);
/* One touch may show so much. */
bool fm_piece_single(uintptr_t start, uintptr_t end);

#endif
