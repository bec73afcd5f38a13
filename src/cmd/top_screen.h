/* SPDX-License-Identifier: MIT */
/* top_screen.h - `fastmap top` on a terminal, by ncurses. */
#pragma once

#include "top_rows.h"

struct top_view {
	struct top_process *const *process;
	unsigned processes;
	struct top_row *row;
	unsigned rows;
	unsigned selected, first; /* rows; first: the top one on the screen */
	enum top_column by;
	bool reverse, paused, many;
	bool help, why;  /* in place of the table */
	unsigned help_at; /* line of these */
	bool follows; /* the selected row, wherever it goes; else the top */
	double interval;          /* s */
	char message[256];        /* "": none */
	const char *question;     /* what is asked, or NULL */
	char answer[64];          /* as far as it has been typed */
};

/* 0, or -1 and a line on stderr: this is no terminal that can be drawn on. */
int top_screen_begin(void);
void top_screen_end(void);
void top_screen_draw(struct top_view *v);
/* A key of ncurses', ERR: none is there. */
int top_screen_key(void);
/* The terminal has another size now. */
void top_screen_resize(void);
/* Rows that a page has, also of the help, columns of the screen. */
unsigned top_screen_page(void);
unsigned top_screen_help_page(void);
unsigned top_screen_columns(void);

/* The lines above the table, also for --once: of `columns`, TOP_LINE
 * characters. */
void top_head_title(const struct top_view *v, unsigned columns, wchar_t *ret);
void top_head_sums(const struct top_view *v, unsigned columns, wchar_t *ret);
void top_head_rates(const struct top_view *v, unsigned columns, wchar_t *ret);
void top_head_process(const struct top_view *v, unsigned columns,
		      wchar_t *ret);
