/* SPDX-License-Identifier: MIT */
#include "top_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"

#define FILE_LEAST 18

const struct top_column_text top_columns[TOP_COLUMNS] = {
	[TOP_PID] = { "PID", "process", 7, false, 3 },
	[TOP_PROGRAM] = { "PROGRAM", "its executable", 12, true, 9 },
	[TOP_SIZE] = { "SIZE", "of the file", 6, false, 10 },
	[TOP_RESIDENT] = { "RES", "of it in the engine's cache", 6, false, 2 },
	[TOP_DIRTY] = { "DIRTY", "stored to, not yet written", 6, false, 6 },
	[TOP_FAULTS_S] = { "FAULT/s", "faults a second", 7, false, 1 },
	[TOP_HIT] = { "HIT%", "of faults on absent pages that found them in "
		      "memory", 5, false, 7 },
	[TOP_READ_S] = { "READ/s", "bytes a second from the device", 6, false,
			 5 },
	[TOP_WRITE_S] = { "WRIT/s", "bytes a second to the device", 6, false,
			  8 },
	[TOP_P50] = { "P50", "median time of the process's faults", 6, false,
		      11 },
	[TOP_P99] = { "P99", "99 of 100 took no longer", 6, false, 12 },
	[TOP_SERVER] = { "SERVER", "engine, kernel, or advised: the kernel, with "
			 "our advice", 7, true, 4 },
	[TOP_FILE] = { "FILE", "as it was mapped", FILE_LEAST, true, 0 },
	[TOP_WHY] = { "WHY", "the kernel serves it, or what it waits for", 20, true, 13 },
};

/* ---- rows -------------------------------------------------------------- */

static unsigned rows_of(const struct top_process *p)
{
	return p->files ? p->files : 1;
}

struct top_row *top_rows_new(struct top_process *const *process, unsigned n,
			     unsigned *ret_n)
{
	unsigned all = 0, k = 0;
	struct top_row *rows;

	for (unsigned i = 0; i < n; i++)
		all += rows_of(process[i]);
	rows = calloc(all + 1, sizeof(*rows));
	for (unsigned i = 0; rows && i < n; i++)
		for (unsigned f = 0; f < rows_of(process[i]); f++)
			rows[k++] = (struct top_row){ process[i],
				process[i]->files ? &process[i]->file[f] :
						    NULL };
	*ret_n = k;
	return rows;
}

/* ---- order ------------------------------------------------------------- */

/* Below 0: there is none, as of what the kernel serves. */
static double figure_of(const struct top_file *f, enum top_column c)
{
	switch (c) {
	case TOP_SIZE: return (double)f->size;
	case TOP_RESIDENT: return (double)f->resident;
	case TOP_DIRTY: return (double)f->dirty;
	case TOP_FAULTS_S: return f->rate[TOP_FAULTS];
	case TOP_HIT: return f->hit;
	case TOP_READ_S: return f->rate[TOP_READ];
	case TOP_WRITE_S: return f->rate[TOP_WRITTEN];
	default: return 0;
	}
}

static double value_of(const struct top_row *r, enum top_column c)
{
	const struct top_process *p = r->process;
	const double v = r->file ? figure_of(r->file, c) : -1;

	switch (c) {
	case TOP_PID: return p->pid;
	case TOP_P50: return p->p99 > 0 ? p->p50 : -1;
	case TOP_P99: return p->p99 > 0 ? p->p99 : -1;
	case TOP_HIT: return r->file ? v : -2;
	default: return r->file && !r->file->engine && v <= 0 ? -1 : v;
	}
}

static const char *top_rows_text_of(const struct top_row *r, enum top_column c)
{
	const struct top_file *f = r->file;

	switch (c) {
	case TOP_PROGRAM: return r->process->program;
	case TOP_SERVER: return f ? f->server : "";
	case TOP_FILE: return f ? f->path : "(no file)";
	case TOP_WHY: return f ? f->why : "";
	default: return "";
	}
}

/* Figures fall, texts rise. */
static int compare_by(const struct top_row *a, const struct top_row *b,
		      enum top_column c)
{
	const double x = value_of(a, c), y = value_of(b, c);

	return top_columns[c].left
		       ? strcmp(top_rows_text_of(a, c), top_rows_text_of(b, c))
		       : (x < y) - (x > y);
}

static struct {
	enum top_column by;
	int sign;
} order;

/* What is the same otherwise stays in one order, whatever is done. */
static int top_rows_compare(const void *va, const void *vb)
{
	const struct top_row *a = va, *b = vb;
	int r = compare_by(a, b, order.by) * order.sign;

	if (!r)
		r = compare_by(a, b, TOP_FILE);
	return r ? r : compare_by(b, a, TOP_PID);
}

void top_rows_sort(struct top_row *rows, unsigned n, enum top_column by,
		   bool reverse)
{
	order.by = by;
	order.sign = reverse ? -1 : 1;
	if (n)
		qsort(rows, n, sizeof(*rows), top_rows_compare);
}

/* ---- columns that fit -------------------------------------------------- */

static unsigned total(const unsigned width[TOP_COLUMNS])
{
	unsigned n = 0;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		n += width[c] ? width[c] + 1 : 0;
	return n ? n - 1 : 0;
}

static enum top_column nth(unsigned place)
{
	enum top_column c = 0;

	while (top_columns[c].order != place)
		c++;
	return c;
}

static unsigned longest(const struct top_row *rows, unsigned n,
			enum top_column c)
{
	unsigned most = 0;

	for (unsigned i = 0; i < n; i++) {
		const unsigned w = shown_columns(top_rows_text_of(&rows[i], c));

		if (w > most)
			most = w;
	}
	return most;
}

/* Of what is left, as much as its longest text needs. */
static void widen(unsigned width[TOP_COLUMNS], enum top_column c,
		  unsigned columns, unsigned need)
{
	const unsigned now = total(width);
	const unsigned room = columns > now ? columns - now : 0;

	if (need > width[c])
		width[c] += need - width[c] < room ? need - width[c] : room;
}

void top_fit(unsigned columns, bool many, const struct top_row *rows,
	     unsigned n, unsigned width[TOP_COLUMNS])
{
	const unsigned why = longest(rows, n, TOP_WHY);

	if (columns > TOP_LINE / 2)
		columns = TOP_LINE / 2;
	memset(width, 0, TOP_COLUMNS * sizeof(*width));
	width[TOP_FILE] = columns < FILE_LEAST ? columns : FILE_LEAST;
	for (unsigned place = 1; place < TOP_COLUMNS; place++) {
		const enum top_column c = nth(place);

		if (!many && (c == TOP_PID || c == TOP_PROGRAM))
			continue;
		if (c == TOP_WHY && !why)
			continue;
		if (total(width) + 1 + top_columns[c].width <= columns)
			width[c] = top_columns[c].width;
	}
	widen(width, TOP_FILE, columns, longest(rows, n, TOP_FILE));
	if (width[TOP_WHY])
		widen(width, TOP_WHY, columns, why);
	widen(width, TOP_FILE, columns, columns);
}

/* ---- lines ------------------------------------------------------------- */

static const char *figure(const struct top_row *r, enum top_column c,
			  char *buf)
{
	const double v = value_of(r, c);

	if (v < 0)
		return "-";
	switch (c) {
	case TOP_PID:
		snprintf(buf, SHOWN_NUMBER, "%.0f", v);
		return buf;
	case TOP_HIT:
		snprintf(buf, SHOWN_NUMBER, "%.0f", v);
		return buf;
	case TOP_FAULTS_S:
		return shown_count(v, buf);
	case TOP_P50: case TOP_P99:
		return shown_time(v, buf);
	default:
		return shown_bytes((uint64_t)v, buf);
	}
}

static const char *top_rows_cell(const struct top_row *r, enum top_column c,
				 char *buf)
{
	if (!r)
		return top_columns[c].title;
	return top_columns[c].left ? top_rows_text_of(r, c) : figure(r, c, buf);
}

static wchar_t *spaces(wchar_t *to, unsigned n)
{
	while (n--)
		*to++ = L' ';
	return to;
}

/* Of a path the end tells more than the beginning. */
static wchar_t *top_rows_put(wchar_t *to, const struct top_row *r,
			     enum top_column c, unsigned width)
{
	char buf[SHOWN_NUMBER];
	wchar_t text[TOP_LINE];
	const unsigned used = shown_text(top_rows_cell(r, c, buf), width,
					 c != TOP_FILE, text);

	if (!top_columns[c].left)
		to = spaces(to, width - used);
	to = wcpcpy(to, text);
	return top_columns[c].left ? spaces(to, width - used) : to;
}

void top_line(const struct top_row *row, const unsigned width[TOP_COLUMNS],
	      wchar_t *ret)
{
	const wchar_t *begin = ret;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++) {
		if (!width[c])
			continue;
		if (ret != begin)
			*ret++ = L' ';
		ret = top_rows_put(ret, row, c, width[c]);
	}
	*ret = 0;
}

unsigned top_column_at(const unsigned width[TOP_COLUMNS], enum top_column c)
{
	unsigned at = 0;

	for (enum top_column k = 0; k < c; k++)
		at += width[k] ? width[k] + 1 : 0;
	return at;
}
