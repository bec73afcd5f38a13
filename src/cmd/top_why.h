/* SPDX-License-Identifier: MIT */
/* top_why.h - in `fastmap top`: why the selected file is served by whom it
 * is. */
#pragma once

#include "top_rows.h"

#define TOP_WHY_COLUMNS 200
#define TOP_WHY_LINES 64

/* In lines of so many columns, as `fastmap why` says it. Row NULL, or one
 * without a file: that. Returns how many there are. */
unsigned top_why_lines(const struct top_row *row, unsigned columns,
		       char ret[TOP_WHY_LINES][TOP_WHY_COLUMNS + 1]);
