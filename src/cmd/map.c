/* SPDX-License-Identifier: MIT */
/* map.c - fastmap map: which pages of files are in memory, as bars. */
#include <getopt.h>
#include <jansson.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/control.h"
#include "cmd.h"
#include "live.h"
#include "map_bar.h"
#include "shown.h"
#include "stats_doc.h"

#define WIDEST 1024 /* as the engine divides a file at most */

static const char help[] =
	"usage: fastmap map [OPTION...] WHO [FILE]\n"
	"Which parts of the files that a process has mapped are in memory, and\n"
	"as what. WHO is a process id, the name of a program, or a socket.\n"
	"\n"
	"  --width N   characters of a bar, 1 to 1024 (default: the terminal's)\n"
	"  --json      counts instead of bars\n";

struct options {
	unsigned width;
	int json;
};

/* ---- options ----------------------------------------------------------- */

static bool take_width(const char *text, unsigned *ret)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !v || v > WIDEST)
		return false;
	*ret = (unsigned)v;
	return true;
}

static bool map_take_option(void *arg, int c, const char *value)
{
	struct options *o = arg;

	if (take_width(value, &o->width))
		return true;
	fprintf(stderr, "fastmap: map: --width %s: 1 to %d characters\n", value,
		WIDEST);
	return false;
}

static unsigned terminal_width(void)
{
	const unsigned w = shown_width(STDOUT_FILENO, 80);

	return w < 4 ? 78 : w - 2 < WIDEST ? w - 2 : WIDEST;
}

/* ---- what is drawn ----------------------------------------------------- */

static bool in_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return shown_draws(STDOUT_FILENO) && (!no || !*no);
}

static void put_cell(char c, enum map_kind k, bool colour)
{
	if (colour && c != ' ')
		printf("\033[%sm%c\033[m", map_kinds[k].colour, c);
	else
		putchar(c);
}

static void draw_bar(const json_t *file)
{
	const json_t *by_kind = json_object_get(file, "cells_by_kind");
	const uint64_t pages = doc_uint(file, "pages");
	const uint64_t cells = doc_uint(file, "cells");
	const bool colour = in_colour();
	uint64_t n[MAP_KINDS];
	enum map_kind k;

	putchar('[');
	for (uint64_t c = 0; c < cells; c++) {
		for (k = 0; k < MAP_KINDS; k++)
			n[k] = (uint64_t)json_integer_value(json_array_get(
				json_object_get(by_kind, map_kinds[k].key), c));
		const char x = map_bar_char(n, pages * (c + 1) / cells -
					    pages * c / cells, &k);
		put_cell(x, k, colour);
	}
	puts("]");
}

/* "/data/app.db: 8.0G, by the kernel: already in the page cache; 140M a
 * character" */
static void map_print_head(const json_t *file)
{
	const char *why = doc_text(file, "why");
	const char *server = doc_text(file, "server");
	const uint64_t cells = doc_uint(file, "cells");
	char b[2][SHOWN_NUMBER];

	shown_print(doc_text(file, "path"));
	printf(": %s, served by the %s", shown_bytes(doc_uint(file, "size"),
						     b[0]), server);
	if (*why)
		printf(" (%s)", why);
	if (cells)
		printf("; a character is %s",
		       shown_bytes(doc_uint(file, "size") / cells, b[1]));
	putchar('\n');
}

static void print_totals(const json_t *file, uint64_t page)
{
	const json_t *by_kind = json_object_get(file, "pages_by_kind");
	const uint64_t pages = doc_uint(file, "pages");
	uint64_t in = 0;
	char b[SHOWN_NUMBER];

	for (enum map_kind k = 0; k < MAP_KINDS; k++) {
		const uint64_t n = doc_uint(by_kind, map_kinds[k].key);

		in += n;
		printf("%s%s %s", k ? ", " : " ", map_kinds[k].name,
		       shown_bytes(n * page, b));
	}
	/* A page may be in the engine's cache and in the page cache. */
	in = in < pages ? in : pages;
	printf("; not in memory %s", shown_bytes((pages - in) * page, b));
	if (pages)
		printf(" (%.0f %% in memory)",
		       (double)in / (double)pages * 100);
	putchar('\n');
}

static void print_doubts(const json_t *file)
{
	if (json_is_false(json_object_get(file, "page_cache_known")))
		puts(" page cache: not known; the kernel tells only who owns "
		     "the file or may write it");
	if (json_is_true(json_object_get(file, "page_cache_sampled")))
		puts(" page cache: an estimate, from samples of a large file");
}

static void print_legend(void)
{
	puts("each character is the same part of its file; a capital: at least "
	     "half of it");
	for (enum map_kind k = 0; k < MAP_KINDS; k++) {
		printf(" ");
		put_cell(map_kinds[k].letter, k, in_colour());
		printf("  %s: %s\n", map_kinds[k].name, map_kinds[k].meaning);
	}
}

static void map_print_all(const json_t *doc)
{
	const json_t *files = json_object_get(doc, "files");
	const json_t *f;
	size_t i;

	json_array_foreach(files, i, f) {
		map_print_head(f);
		draw_bar(f);
		print_totals(f, doc_uint(doc, "page"));
		print_doubts(f);
		putchar('\n');
	}
	if (json_array_size(files))
		print_legend();
	else
		puts("no file below the paths is mapped now");
}

/* ---- what is asked ----------------------------------------------------- */

/* By its numbers, whatever the path that it was mapped by; a file that has been
 * deleted by that path. */
static int map_make_line(const struct options *o, const char *file, char *line,
			 size_t size)
{
	struct stat st;
	int n;

	if (!file)
		n = snprintf(line, size, "map %u", o->width);
	else if (!stat(file, &st))
		n = snprintf(line, size, "map %u %lu:%lu", o->width,
			     (unsigned long)st.st_dev,
			     (unsigned long)st.st_ino);
	else
		n = snprintf(line, size, "map %u %s", o->width, file);
	return n < (int)size && !strchr(line, '\n') ? 0 : -1;
}

static int map_show(const char *text, const char *who, bool json)
{
	json_t *doc = shown_json(json_loads(text, 0, NULL));

	if (!doc) {
		fprintf(stderr, "fastmap: %s: its answer is cut off\n", who);
		return 1;
	}
	if (json)
		fputs(text, stdout);
	else
		map_print_all(doc);
	json_decref(doc);
	return 0;
}

int cmd_map(int argc, char **argv)
{
	static struct options o;
	static const struct option known[] = {
		{ "width", required_argument, NULL, 'w' },
		CMD_FLAG("json", o.json), CMD_HELP, { 0 },
	};
	char line[FM_CONTROL_LINE], *text;
	int r;

	o.width = terminal_width();
	r = cmd_values(argc, argv, known, 1, 2, help, map_take_option, &o);
	if (r >= 0)
		return r;
	setlocale(LC_ALL, "");
	if (map_make_line(&o, argv[optind + 1], line, sizeof(line))) {
		fprintf(stderr, "fastmap: map: that path is too long, or has a "
			"line end\n");
		return 2;
	}
	text = live_ask(argv[optind], line);
	if (!text)
		return 1;
	r = map_show(text, argv[optind], o.json);
	free(text);
	return r;
}
