/* SPDX-License-Identifier: MIT */
#include "live_table.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------ */

struct live_text live_size(uint64_t bytes)
{
	static const char unit[] = "KMGTPE";
	struct live_text t;
	double v = (double)bytes;
	int k = -1;

	while (v >= 1023.5 && k < 5) {
		v /= 1024;
		k++;
	}
	if (k < 0)
		snprintf(t.s, sizeof(t.s), "%u", (unsigned)bytes);
	else
		snprintf(t.s, sizeof(t.s), v < 9.95 ? "%.1f%c" : "%.0f%c", v,
			 unit[k]);
	return t;
}

struct live_text live_time(double seconds)
{
	struct live_text t;

	if (seconds < 120)
		snprintf(t.s, sizeof(t.s), "%.0fs", seconds);
	else if (seconds < 7200)
		snprintf(t.s, sizeof(t.s), "%.0fm", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(t.s, sizeof(t.s), "%.0fh", seconds / 3600);
	else
		snprintf(t.s, sizeof(t.s), "%.0fd", seconds / 86400);
	return t;
}

uint64_t live_uint(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

double live_real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

const char *live_string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* ---- files -------------------------------------------------------------- */

static bool same_file(const json_t *a, const json_t *b)
{
	return live_uint(a, "inode") == live_uint(b, "inode") &&
	       live_uint(a, "device") == live_uint(b, "device");
}

static bool is_advised(const json_t *stats, const json_t *file)
{
	json_t *ranges = json_object_get(json_object_get(stats, "advice"),
					 "kernel_files");
	json_t *r;
	size_t i;

	if (!*live_string(json_object_get(stats, "advice"), "source"))
		return false;
	json_array_foreach(ranges, i, r)
		if (same_file(r, file) &&
		    json_is_true(json_object_get(r, "advised")))
			return true;
	return false;
}

const char *live_server(const json_t *stats, const json_t *file)
{
	if (!strcmp(live_string(file, "server"), "engine"))
		return "engine";
	return is_advised(stats, file) ? "advised" : "kernel";
}

const char *live_why(const json_t *file)
{
	json_t *first = json_array_get(json_object_get(file, "why"), 0);

	return first ? live_string(first, "reason") :
		       live_string(file, "demote_why");
}

/* Of what is mapped no more the counts remain. */
static bool is_mapped(const json_t *file)
{
	return json_is_true(json_object_get(file, "open"));
}

static bool is_listed(const json_t *files, const json_t *file)
{
	json_t *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (is_mapped(f) && same_file(f, file))
			return true;
	return false;
}

json_t *live_file(const json_t *stats, size_t n)
{
	json_t *files = json_object_get(stats, "files");
	json_t *left = json_object_get(stats, "left_to_kernel");
	json_t *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (is_mapped(f) && !n--)
			return f;
	json_array_foreach(left, i, f)
		if (!is_listed(files, f) && !n--)
			return f;
	return NULL;
}

unsigned live_count(const json_t *stats, const char *server)
{
	unsigned n = 0;
	json_t *f;

	for (size_t i = 0; (f = live_file(stats, i)); i++)
		n += !strcmp(live_server(stats, f), server);
	return n;
}
