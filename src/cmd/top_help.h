/* SPDX-License-Identifier: MIT */
/* top_help.h - what the keys of `fastmap top` do, and its columns mean. */
#pragma once

#define TOP_HELP_COLUMNS 120
#define TOP_HELP_LINES 256

/* All of it in lines of so many columns. Returns how many there are. */
unsigned top_help_lines(unsigned columns,
			char ret[TOP_HELP_LINES][TOP_HELP_COLUMNS + 1]);
