/* SPDX-License-Identifier: MIT */
#include "top_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats_doc.h"
#include "why_text.h"

#define INDENT 2 /* of what a line goes on in */

struct lines {
	char (*line)[TOP_TEXT_COLUMNS + 1];
	unsigned n;
	size_t columns;
};

/* Up to the last blank that fits; of a long word what fits. */
static size_t top_text_fit(const char *text, size_t len, size_t room)
{
	size_t n = room;

	if (len <= room)
		return len;
	while (n && text[n] != ' ')
		n--;
	return n ? n : room;
}

static void top_text_put(struct lines *l, const char *text, size_t len)
{
	size_t indent = 0;

	if (!len && l->n < TOP_TEXT_LINES)
		l->line[l->n++][0] = 0;
	while (len && l->n < TOP_TEXT_LINES) {
		const size_t n = top_text_fit(text, len, l->columns - indent);
		const size_t blanks = n < len ? strspn(text + n, " ") : 0;

		snprintf(l->line[l->n++], TOP_TEXT_COLUMNS + 1, "%*s%.*s",
			 (int)indent, "", (int)n, text);
		text += n + blanks;
		len -= n + blanks;
		indent = l->columns > 4 * INDENT ? INDENT : 0;
	}
}

static unsigned top_text_lines(const char *text, unsigned columns,
			       char ret[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1])
{
	struct lines l = { ret, 0, columns < TOP_TEXT_COLUMNS ?
				   columns : TOP_TEXT_COLUMNS };

	while (*text) {
		const size_t len = strcspn(text, "\n");

		top_text_put(&l, text, len);
		text += len + (text[len] == '\n');
	}
	return l.n;
}

/* ---- help --------------------------------------------------------------- */

static const char keys[] =
	"up, down   select a file, its process\n"
	"PgUp, PgDn a page; Home, End\n"
	"<, >       sort by the next column\n"
	"r          turn the order round\n"
	"p          pause\n"
	"i          seconds between looks\n"
	"c          cache size of the process\n"
	"f          write dirty pages now\n"
	"d          the kernel serves the file\n"
	"t          the engine does, again\n"
	"x          drop the file from the cache\n"
	"w          why the file is served so\n"
	"h          this text\n"
	"q          quit\n\n";

unsigned top_help_lines(unsigned columns,
			char ret[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1])
{
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", keys);

	for (enum top_column c = 0; c < TOP_COLUMNS && n < sizeof(text); c++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%-10s %s\n",
				      top_columns[c].title,
				      top_columns[c].meaning);
	return top_text_lines(text, columns, ret);
}

/* ---- why ---------------------------------------------------------------- */

/* To be freed; NULL: nothing can be told. */
static char *top_why_text_of(const struct top_row *row)
{
	json_t *files = doc_files(row->process->stats);
	const json_t *f = doc_by_number(files, row->file->device,
					 row->file->inode);
	char *text = NULL;
	size_t size;
	FILE *out = f && json_object_get(f, "choice") ?
			    open_memstream(&text, &size) : NULL;

	if (out) {
		why_text(row->process->stats, f, out);
		fclose(out);
	}
	json_decref(files);
	return text;
}

unsigned top_why_lines(const struct top_row *row, unsigned columns,
		       char ret[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1])
{
	const bool file = row && row->file;
	char *text = file ? top_why_text_of(row) : NULL;
	const unsigned n = top_text_lines(
		text ? text : file ? "its process runs an older library, which "
				     "does not tell why" :
				     "no file is selected", columns, ret);

	free(text);
	return n;
}
