/* SPDX-License-Identifier: MIT */
#include "served.h"

#include <stdio.h>
#include <string.h>

#include "glob.h"
#include "stage.h"
#include "stats_doc.h"

/* The first file that was left to the kernel, and why. */
static void take_left(const json_t *stats, struct served *s)
{
	const json_t *f =
		json_array_get(json_object_get(stats, "left_to_kernel"), 0);

	if (f && !*s->left)
		snprintf(s->left, sizeof(s->left), "%.200s: %.255s",
			 fm_base_name(doc_text(f, "path")), doc_why(f));
}

static void take(const json_t *stats, struct served *s)
{
	const json_t *totals = json_object_get(stats, "totals");
	uint64_t cache = doc_uint(json_object_get(stats, "cache"),
				  "limit_bytes");

	s->processes++;
	if (cache > s->cache)
		s->cache = cache;
	take_left(stats, s);
	s->files += doc_uint(totals, "files");
	s->faults += doc_uint(totals, "answered");
	s->read += doc_uint(totals, "all_load_bytes");
}

void served_take(const char *folder, struct served *ret)
{
	json_t *docs = stage_collect(folder), *doc;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	json_array_foreach(docs, i, doc)
		take(doc, ret);
	json_decref(docs);
}
