/* SPDX-License-Identifier: MIT */
/*
 * top_rows.h - the table of `fastmap top`, without a terminal: a row for each
 * file of a process, its columns, which of them fit, and the order.
 */
#pragma once

#include <wchar.h>

#include "top_model.h"

enum top_column {
	TOP_PID, TOP_PROGRAM, TOP_SIZE, TOP_RESIDENT, TOP_DIRTY, TOP_FAULTS_S,
	TOP_HIT, TOP_READ_S, TOP_WRITE_S, TOP_P50, TOP_P99, TOP_SERVER,
	TOP_FILE, TOP_WHY, TOP_COLUMNS
};

struct top_column_text {
	const char *title, *meaning;
	unsigned width;
	bool left;      /* aligned, and sorted upwards at first */
	unsigned order; /* who comes first when room is short: 1 */
};
extern const struct top_column_text top_columns[TOP_COLUMNS];

struct top_row {
	const struct top_process *process;
	const struct top_file *file; /* NULL: it has mapped none */
};

/* The rows of these processes. NULL without memory; *ret_n of them. */
struct top_row *top_rows_new(struct top_process *const *process, unsigned n,
			     unsigned *ret_n);
void top_rows_sort(struct top_row *rows, unsigned n, enum top_column by,
		   bool reverse);

/* Which columns a screen of that width shows, and how wide they are: 0 is not
 * shown. `many`: of more than one process. */
void top_fit(unsigned columns, bool many, const struct top_row *rows,
	     unsigned n, unsigned ret_width[TOP_COLUMNS]);

/* The line of a row, or of the titles (row NULL), as wide as these columns are
 * together; `ret` has room for TOP_LINE wide characters. */
#define TOP_LINE 1024
void top_line(const struct top_row *row, const unsigned width[TOP_COLUMNS],
	      wchar_t *ret);
/* Where a column begins in the line. */
unsigned top_column_at(const unsigned width[TOP_COLUMNS], enum top_column c);
