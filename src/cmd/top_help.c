/* SPDX-License-Identifier: MIT */
#include "top_help.h"

#include <stdio.h>
#include <string.h>

#include "top_rows.h"

#define KEYS 10   /* columns of a key, or of a title */
#define LEAST 20  /* of what stands beside it; else it stands below */

struct entry {
	const char *key, *meaning;
};

/* Two stand side by side where there is room: a screen of 80x24 has all. */
static const struct entry keys[] = {
	{ "up, down", "select a file, its process" },
	{ "PgUp, PgDn", "a page; Home, End" },
	{ "<, >", "sort by the next column" },
	{ "r", "turn the order round" },
	{ "p", "pause" },
	{ "i", "seconds between looks" },
	{ "c", "cache size of the process" },
	{ "f", "write dirty pages now" },
	{ "d", "the kernel serves the file" },
	{ "t", "the engine does, again" },
	{ "x", "drop the file from the cache" },
	{ "w", "why the file is served so" },
	{ "h", "this text" },
	{ "q", "quit" },
};
#define HALF 39 /* columns of one of two */

struct lines {
	char (*line)[TOP_HELP_COLUMNS + 1];
	unsigned n, columns;
};

/* As many words as fit into `room`; at least a character. */
static size_t top_help_fit(const char *text, size_t room)
{
	size_t n = strlen(text);

	if (n <= room)
		return n;
	for (n = room; n && text[n] != ' '; n--)
		;
	return n ? n : room ? room : 1;
}

/* The key, and its meaning beside it, or below. */
static void top_help_put(struct lines *l, const struct entry *e)
{
	const bool beside = l->columns >= KEYS + 1 + LEAST;
	const unsigned indent = beside ? KEYS + 1 : l->columns > 8 ? 2 : 0;
	const char *head = e->key, *text = e->meaning;

	if (!beside && l->n < TOP_HELP_LINES) {
		snprintf(l->line[l->n++], TOP_HELP_COLUMNS + 1, "%s", head);
		head = "";
	}
	while (*text && l->n < TOP_HELP_LINES) {
		size_t n = top_help_fit(text, l->columns - indent);

		snprintf(l->line[l->n++], TOP_HELP_COLUMNS + 1, "%-*s%.*s",
			 (int)indent, head, (int)n, text);
		text += n + strspn(text + n, " ");
		head = "";
	}
}

static void put_two(struct lines *l, const struct entry *a,
		    const struct entry *b)
{
	char left[TOP_HELP_COLUMNS + 1];

	snprintf(left, sizeof(left), "%-*s %s", KEYS, a->key, a->meaning);
	snprintf(l->line[l->n++], TOP_HELP_COLUMNS + 1, "%-*.*s %-*s %.*s",
		 HALF, HALF, left, KEYS, b->key, HALF - KEYS, b->meaning);
}

unsigned top_help_lines(unsigned columns,
			char ret[TOP_HELP_LINES][TOP_HELP_COLUMNS + 1])
{
	const unsigned n = sizeof(keys) / sizeof(keys[0]);
	struct lines l = { ret, 0, columns < TOP_HELP_COLUMNS ? columns :
				   TOP_HELP_COLUMNS };
	const bool two = l.columns >= 2 * HALF;

	for (unsigned i = 0; i < n; i += two ? 2 : 1)
		if (two)
			put_two(&l, &keys[i], &keys[i + 1]);
		else
			top_help_put(&l, &keys[i]);
	ret[l.n++][0] = 0;
	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		top_help_put(&l, &(struct entry){ top_columns[c].title,
						  top_columns[c].meaning });
	return l.n;
}
