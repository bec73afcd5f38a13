/* SPDX-License-Identifier: MIT */
/* why.c - fastmap why: by whom a file is served, why, and what would change
 * that. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cmd.h"
#include "glob.h"
#include "live.h"
#include "stats_doc.h"
#include "why_text.h"

static const char help[] =
	"usage: fastmap why [OPTION...] WHO FILE\n\n"
	"Who serves a file of a running process, since when and why; what "
	"forbids the\nengine; what would change that, and when at the "
	"earliest; what an access costs\nwith either server, as far as that is "
	"known; the last ten decisions with their\ncosts. WHO is a process id, "
	"the name of a program, or a socket; FILE a path, or\na part of one "
	"that no other file of the process has.\n\n"
	"  --json                  the same, for programs\n";

struct asked {
	const char *who, *file;
	bool json;
};

/* ---- which file --------------------------------------------------------- */

static const json_t *by_number(const json_t *files, const char *path)
{
	struct stat st;

	return stat(path, &st) ? NULL :
				 doc_by_number(files, st.st_dev, st.st_ino);
}

/* How a path may be named: wholly, by its last part, by any part. */
enum by { BY_PATH, BY_NAME, BY_PART, BYS };

static bool why_is_named(const json_t *f, const char *name, enum by by)
{
	const char *path = doc_text(f, "path");

	return by == BY_PART ? strstr(path, name) != NULL :
	       !strcmp(by == BY_NAME ? fm_base_name(path) : path, name);
}

static unsigned why_find(const json_t *files, const char *name, enum by by,
			 const json_t **ret)
{
	unsigned n = 0;
	const json_t *f;
	size_t i;

	json_array_foreach(files, i, f)
		if (why_is_named(f, name, by) && !n++)
			*ret = f;
	return n;
}

static void say_several(const json_t *files, const struct asked *a, unsigned n)
{
	const json_t *f;
	unsigned said = 0;
	size_t i;

	fprintf(stderr, "fastmap: why: %u files of %s have '%s' in their path; "
		"give more of it:", n, a->who, a->file);
	json_array_foreach(files, i, f)
		if (why_is_named(f, a->file, BY_PART) && said++ < 3)
			fprintf(stderr, "%s %s", said > 1 ? "," : "",
				doc_text(f, "path"));
	fputs(n > 3 ? ", ...\n" : "\n", stderr);
}

/* Does the process map it, whoever serves it? */
static bool is_in_maps(unsigned pid, const struct stat *st)
{
	char path[32], line[4352];
	unsigned major, minor;
	unsigned long inode;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor,
			       &inode) == 3 && inode == st->st_ino &&
			makedev(major, minor) == st->st_dev;
	if (f)
		fclose(f);
	return found;
}

static void why_say_none(const json_t *stats, const struct asked *a)
{
	struct stat st;

	if (!stat(a->file, &st) &&
	    is_in_maps((unsigned)doc_uint(stats, "pid"), &st))
		fprintf(stderr, "fastmap: why: %s: mapped by %s, but not "
			"through the library: not below its paths, or not by a "
			"call of libc (fastmap stat %s lists what is)\n",
			a->file, a->who, a->who);
	else
		fprintf(stderr, "fastmap: why: %s: not mapped by %s through "
			"the library (fastmap stat %s lists what is)\n",
			a->file, a->who, a->who);
}

/* NULL: none, or several; said. */
static const json_t *why_pick(const json_t *stats, const json_t *files,
			      const struct asked *a)
{
	const json_t *f = by_number(files, a->file);
	unsigned n = 0;

	for (enum by by = 0; !f && !n && by < BYS; by++)
		n = why_find(files, a->file, by, &f);
	if (n > 1)
		say_several(files, a, n);
	else if (!f)
		why_say_none(stats, a);
	return n > 1 ? NULL : f;
}

/* ---- as JSON ------------------------------------------------------------ */

static json_t *why_document(const json_t *stats, const json_t *f)
{
	const json_t *served = json_object_get(f, "served");
	json_t *o = json_pack(
		"{s:I s:s s:s s:I s:I s:I s:s s:I}",
		"pid", (json_int_t)doc_uint(stats, "pid"),
		"program", doc_text(stats, "program"),
		"path", doc_text(f, "path"),
		"device", (json_int_t)doc_uint(f, "device"),
		"inode", (json_int_t)doc_uint(f, "inode"),
		"size", (json_int_t)doc_uint(f, "size"),
		"server", doc_server(stats, f),
		"server_ms", (json_int_t)doc_uint(served, "by_ms"));

	if (o && !json_object_update(o, json_object_get(f, "choice")) &&
	    !json_object_set(o, "changes", json_object_get(served, "changes")))
		return o;
	json_decref(o);
	return NULL;
}

static int why_show_json(const json_t *stats, const json_t *f)
{
	json_t *o = why_document(stats, f);
	int err = !o || json_dumpf(o, stdout, JSON_INDENT(1) |
					      JSON_REAL_PRECISION(15));

	if (err)
		fprintf(stderr, "fastmap: why: no memory\n");
	else
		putchar('\n');
	json_decref(o);
	return err;
}

/* ------------------------------------------------------------------------- */

static int why_show(const json_t *stats, const json_t *f, const struct asked *a)
{
	if (!json_object_get(f, "choice")) {
		fprintf(stderr, "fastmap: why: %s runs an older library, which "
			"does not tell: start it again (fastmap stat %s has "
			"the reason)\n", a->who, a->who);
		return 1;
	}
	if (a->json)
		return why_show_json(stats, f);
	why_text(stats, f, stdout);
	return 0;
}

static int why_ask(const struct asked *a)
{
	json_t *stats = live_stats(a->who), *files;
	const json_t *f;
	int r;

	if (!stats)
		return 1;
	files = doc_files(stats);
	f = why_pick(stats, files, a);
	r = f ? why_show(stats, f, a) : 1;
	json_decref(files);
	json_decref(stats);
	return r;
}

int cmd_why(int argc, char **argv)
{
	static int json;
	static const struct option known[] = {
		CMD_FLAG("json", json), CMD_HELP, { 0 },
	};
	const int r = cmd_flags(argc, argv, known, 2, 2, help);

	setlocale(LC_ALL, "");
	return r >= 0 ? r : why_ask(&(struct asked){
		argv[optind], argv[optind + 1], json });
}
