/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "top_screen.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shown.h"
#include "top_terminal.h"
#include "top_text.h"

#define HEAD 6 /* lines above the first row */

static SCREEN *screen;

/* By NO_COLOR (no-color.org) there are none; who serves a file stands there,
 * too. */
int top_screen_begin(void)
{
	const char *no_color = getenv("NO_COLOR");

	if (top_terminal_check())
		return -1;
	set_escdelay(50);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -1;
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	if (!(no_color && *no_color) && has_colors() &&
	    start_color() == OK && use_default_colors() == OK) {
		init_pair(1, COLOR_YELLOW, -1);
		init_pair(2, COLOR_CYAN, -1);
	}
	return 0;
}

void top_screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void top_screen_resize(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		resizeterm(size.ws_row, size.ws_col);
}

int top_screen_key(void)
{
	return getch();
}

unsigned top_screen_page(void)
{
	return LINES > HEAD ? (unsigned)(LINES - HEAD) : 1;
}

unsigned top_screen_help_page(void)
{
	return LINES > 1 ? (unsigned)(LINES - 1) : 1;
}

unsigned top_screen_columns(void)
{
	return (unsigned)COLS;
}

/* ---- the table --------------------------------------------------------- */

static void line_at(int y, const wchar_t *text, attr_t attr)
{
	if (y >= LINES)
		return;
	attrset((int)attr);
	mvaddnwstr(y, 0, text, COLS);
	attrset(A_NORMAL);
}

static void plain_at(int y, const char *text, attr_t attr)
{
	wchar_t wide[TOP_LINE];

	shown_text(text, (unsigned)COLS, true, wide);
	line_at(y, wide, attr);
}

static void top_screen_head(const struct top_view *v)
{
	const unsigned columns = (unsigned)COLS;
	const char *keys = "h help, q quit";
	wchar_t text[TOP_LINE];

	top_head_title(v, columns, text);
	line_at(0, text, A_BOLD);
	if (COLS > (int)(wcslen(text) + strlen(keys) + 2))
		mvaddstr(0, COLS - (int)strlen(keys), keys);
	top_head_sums(v, columns, text);
	line_at(1, text, A_NORMAL);
	top_head_rates(v, columns, text);
	line_at(2, text, A_NORMAL);
	top_head_process(v, columns, text);
	line_at(3, text, A_NORMAL);
}

/* What is typed ends up on the screen in any case. */
static void question(const struct top_view *v)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%s_", v->question, v->answer);
	plain_at(4, text, A_BOLD);
}

static void titles(const struct top_view *v,
		   const unsigned width[TOP_COLUMNS])
{
	wchar_t text[TOP_LINE];

	top_line(NULL, width, text);
	line_at(HEAD - 1, text, A_REVERSE);
	if (width[v->by] && LINES >= HEAD)
		mvchgat(HEAD - 1, (int)top_column_at(width, v->by),
			(int)width[v->by], A_REVERSE | A_BOLD | A_UNDERLINE, 0,
			NULL);
}

static void rows(struct top_view *v, const unsigned width[TOP_COLUMNS])
{
	const unsigned page = top_screen_page();
	wchar_t text[TOP_LINE];

	for (unsigned y = 0; y < page && v->first + y < v->rows; y++) {
		const struct top_row *r = &v->row[v->first + y];
		const bool kernel = r->file && !r->file->engine;

		top_line(r, width, text);
		line_at(HEAD + (int)y, text,
			v->first + y == v->selected ? A_REVERSE :
			kernel ? (attr_t)COLOR_PAIR(1) : A_NORMAL);
	}
}

/* The selected row is on the screen. */
static void scroll_to(struct top_view *v)
{
	const unsigned page = top_screen_page();

	if (v->selected >= v->rows)
		v->selected = v->rows ? v->rows - 1 : 0;
	if (v->first > v->selected)
		v->first = v->selected;
	if (v->selected >= v->first + page)
		v->first = v->selected - page + 1;
	if (v->first + page > v->rows)
		v->first = v->rows > page ? v->rows - page : 0;
}

static void table(struct top_view *v)
{
	unsigned width[TOP_COLUMNS];

	top_fit((unsigned)COLS, v->many, v->row, v->rows, width);
	top_screen_head(v);
	if (v->question)
		question(v);
	else
		plain_at(4, v->message, COLOR_PAIR(2) | A_BOLD);
	titles(v, width);
	rows(v, width);
}

/* ---- help, and why ----------------------------------------------------- */

/* `n` lines, each in `size` bytes. What does not fit is further down. */
static void text(struct top_view *v, const char *line, size_t size, unsigned n)
{
	const unsigned page = top_screen_help_page();
	const unsigned last = n > page ? n - page : 0;

	if (v->help_at > last)
		v->help_at = last;
	for (unsigned y = 0; y < page && v->help_at + y < n; y++)
		plain_at((int)y, line + (v->help_at + y) * size, A_NORMAL);
	plain_at(LINES - 1, last ? "up, down: more; any key: back" :
				   "any key: back", A_BOLD);
}

static void help_or_why(struct top_view *v)
{
	static char line[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1];
	const struct top_row *row = v->rows ? &v->row[v->selected] : NULL;

	text(v, line[0], sizeof(line[0]),
	     v->help ? top_help_lines((unsigned)COLS, line) :
		       top_why_lines(row, (unsigned)COLS, line));
}

void top_screen_draw(struct top_view *v)
{
	erase();
	scroll_to(v);
	if (v->help || v->why)
		help_or_why(v);
	else
		table(v);
	refresh();
}
