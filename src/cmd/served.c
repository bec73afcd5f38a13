/* SPDX-License-Identifier: MIT */
#include "served.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "glob.h"
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

static void take_file(const char *path, struct served *s)
{
	json_t *stats = json_load_file(path, 0, NULL);

	if (stats)
		take(stats, s);
	json_decref(stats);
	unlink(path);
}

void served_take(const char *folder, struct served *ret)
{
	DIR *d = opendir(folder);
	char path[PATH_MAX + 256];
	struct dirent *e;

	memset(ret, 0, sizeof(*ret));
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (*e->d_name != '.')
			take_file(path, ret);
	}
	if (d)
		closedir(d);
}
