/* SPDX-License-Identifier: MIT */
#include "top_why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats_doc.h"
#include "why_text.h"

#define INDENT 2 /* of what a line goes on in */

struct lines {
	char (*line)[TOP_WHY_COLUMNS + 1];
	unsigned n;
	size_t columns;
};

/* Up to the last blank that fits; of a long word what fits. */
static size_t top_why_fit(const char *text, size_t len, size_t room)
{
	size_t n = room;

	if (len <= room)
		return len;
	while (n && text[n] != ' ')
		n--;
	return n ? n : room;
}

static void top_why_put(struct lines *l, const char *text, size_t len)
{
	size_t indent = 0;

	while (len && l->n < TOP_WHY_LINES) {
		const size_t n = top_why_fit(text, len, l->columns - indent);
		const size_t blanks = n < len ? strspn(text + n, " ") : 0;

		snprintf(l->line[l->n++], TOP_WHY_COLUMNS + 1, "%*s%.*s",
			 (int)indent, "", (int)n, text);
		text += n + blanks;
		len -= n + blanks;
		indent = l->columns > 4 * INDENT ? INDENT : 0;
	}
}

static void top_why_put_all(struct lines *l, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		top_why_put(l, text, len);
		text += len + (text[len] == '\n');
	}
}

static const json_t *top_why_find(const json_t *files,
				  const struct top_file *file)
{
	const json_t *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (doc_uint(f, "inode") == file->inode &&
		    doc_uint(f, "device") == file->device)
			return f;
	return NULL;
}

/* To be freed; NULL: nothing can be told. */
static char *top_why_text_of(const struct top_row *row)
{
	json_t *files = doc_files(row->process->stats);
	const json_t *f = top_why_find(files, row->file);
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
		       char ret[TOP_WHY_LINES][TOP_WHY_COLUMNS + 1])
{
	struct lines l = { ret, 0, columns };
	char *text = row && row->file ? top_why_text_of(row) : NULL;

	if (columns > TOP_WHY_COLUMNS)
		l.columns = TOP_WHY_COLUMNS;
	top_why_put_all(
		&l,
		text ? text
		: row && row->file
			? "its process runs an older library, which does not tell why"
			: "no file is selected");
	free(text);
	return l.n;
}
