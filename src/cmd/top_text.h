/* SPDX-License-Identifier: MIT */
/* top_text.h - what `fastmap top` shows in place of the table. */
#pragma once

#include "top_rows.h"

#define TOP_TEXT_COLUMNS 200
#define TOP_TEXT_LINES 256

/* What the keys do, and the columns mean, in lines of so many columns. Returns
 * how many lines there are. */
unsigned top_help_lines(unsigned columns,
			char ret[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1]);

/* Why the selected file is served by whom it is, as `fastmap why` says it. Row
 * NULL, or one without a file: that. */
unsigned top_why_lines(const struct top_row *row, unsigned columns,
		       char ret[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1]);
