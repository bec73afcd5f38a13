/* SPDX-License-Identifier: MIT */
#include "stats_doc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LATE_S 1u /* what is slow has answered something by then */

/* ---- fields ------------------------------------------------------------- */

uint64_t doc_uint(const json_t *o, const char *key)
{
	const json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

double doc_real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

const char *doc_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

uint64_t doc_faults(const json_t *file)
{
	return doc_uint(file, "faults_read") + doc_uint(file, "faults_write") +
	       doc_uint(file, "faults_wp") + doc_uint(file, "hits_ahead") +
	       doc_uint(file, "hits_standby");
}

/* ---- files -------------------------------------------------------------- */

static bool stats_doc_same_file(const json_t *a, const json_t *b)
{
	return doc_uint(a, "inode") == doc_uint(b, "inode") &&
	       doc_uint(a, "device") == doc_uint(b, "device");
}

static bool is_advised(const json_t *stats, const json_t *file)
{
	return *doc_text(json_object_get(stats, "advice"), "source") &&
	       json_is_true(json_object_get(file, "advised"));
}

const char *doc_server(const json_t *stats, const json_t *file)
{
	if (!strcmp(doc_text(file, "server"), "engine"))
		return "engine";
	return is_advised(stats, file) ? "advised" : "kernel";
}

const char *doc_why(const json_t *file)
{
	json_t *first = json_array_get(json_object_get(file, "why"), 0);

	return first ? doc_text(first, "reason") :
		       doc_text(file, "demote_why");
}

const char *doc_waits(const json_t *file, char buf[DOC_WAITS])
{
	const unsigned s = (unsigned)(doc_uint(file, "silent_ms") / 1000);
	const char *source = doc_text(file, "source");

	*buf = 0;
	if (s < LATE_S)
		return buf;
	snprintf(buf, DOC_WAITS, "no answer for %u s from %s", s,
		 *source ? source : "its device");
	return buf;
}

/* Of what is mapped no more the counts remain. */
static bool stats_doc_is_mapped(const json_t *file)
{
	return json_is_true(json_object_get(file, "open"));
}

const json_t *doc_find(const json_t *stats, const json_t *file)
{
	json_t *files = json_object_get(stats, "files"), *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (stats_doc_is_mapped(f) && stats_doc_same_file(f, file))
			return f;
	return NULL;
}

const json_t *doc_by_number(const json_t *files, uint64_t device,
			    uint64_t inode)
{
	const json_t *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (doc_uint(f, "inode") == inode &&
		    doc_uint(f, "device") == device)
			return f;
	return NULL;
}

json_t *doc_files(const json_t *stats)
{
	json_t *files = json_object_get(stats, "files");
	json_t *left = json_object_get(stats, "left_to_kernel");
	json_t *all = json_array(), *f;
	size_t i;
	int err = !all;

	json_array_foreach(files, i, f)
		if (stats_doc_is_mapped(f))
			err |= json_array_append(all, f);
	json_array_foreach(left, i, f)
		if (!json_is_false(json_object_get(f, "mapped")) &&
		    !doc_find(stats, f))
			err |= json_array_append(all, f);
	if (!err)
		return all;
	json_decref(all);
	return NULL;
}

unsigned doc_count(const json_t *stats, const char *server)
{
	json_t *files = doc_files(stats), *f;
	unsigned n = 0;
	size_t i;

	json_array_foreach(files, i, f)
		n += !strcmp(doc_server(stats, f), server);
	json_decref(files);
	return n;
}
