/* SPDX-License-Identifier: MIT */
/* ps.c - fastmap ps: which processes run under the library. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd.h"
#include "live.h"
#include "shown.h"
#include "stats_doc.h"

#define NAME_COLUMNS 16

static const char help[] =
	"usage: fastmap ps [--json]\n\n"
	"Running processes that have a control socket (docs/tools.md): whose "
	"files the\nengine serves, or the kernel with our advice (ADVISED) and "
	"without. Root sees\nthose of all users.\n\n"
	"  --json                  the same, sizes in bytes, uptime in "
	"seconds\n";

static uint64_t in(const json_t *stats, const char *part, const char *key)
{
	return doc_uint(json_object_get(stats, part), key);
}

static void ps_print_line(const struct live_process *p, const json_t *s)
{
	wchar_t name[NAME_COLUMNS + 1];

	shown_text(p->name, NAME_COLUMNS, true, name);
	if (!s) {
		printf("%7d %-10s %-16ls does not answer\n", (int)p->pid,
		       shown_user(p->uid), name);
		return;
	}
	printf("%7d %-10s %-16ls %6u %7u %6u %8s %7s %7s %6s\n", (int)p->pid,
	       shown_user(p->uid), name, doc_count(s, "engine"),
	       doc_count(s, "advised"), doc_count(s, "kernel"),
	       shown_size(in(s, "cache", "resident_bytes")).s,
	       shown_size(in(s, "cache", "dirty_bytes")).s,
	       shown_size(in(s, "cache", "limit_bytes")).s,
	       shown_uptime(doc_real(s, "uptime")).s);
}

static json_t *ps_document(const struct live_process *p, const json_t *s)
{
	json_t *o = json_pack("{s:i s:s s:s s:s s:b}", "pid", (int)p->pid,
			      "user", shown_user(p->uid), "program", p->name,
			      "socket", p->socket, "answers", s != NULL);

	if (!o || !s)
		return o;
	json_object_update_new(
		o, json_pack("{s:i s:i s:i s:I s:I s:I s:f}", "engine_files",
			     (int)doc_count(s, "engine"), "advised_files",
			     (int)doc_count(s, "advised"), "kernel_files",
			     (int)doc_count(s, "kernel"), "resident_bytes",
			     (json_int_t)in(s, "cache", "resident_bytes"),
			     "dirty_bytes",
			     (json_int_t)in(s, "cache", "dirty_bytes"),
			     "cache_limit_bytes",
			     (json_int_t)in(s, "cache", "limit_bytes"),
			     "uptime", doc_real(s, "uptime")));
	return o;
}

static void ps_print_all(const struct live_process *all, size_t n,
			 json_t **stats)
{
	printf("%7s %-10s %-16s %6s %7s %6s %8s %7s %7s %6s\n", "PID", "USER",
	       "PROGRAM", "ENGINE", "ADVISED", "KERNEL", "RESIDENT", "DIRTY",
	       "LIMIT", "UPTIME");
	for (size_t i = 0; i < n; i++)
		/* it may have ended meanwhile */
		if (stats[i] || live_runs(all[i].pid))
			ps_print_line(&all[i], stats[i]);
}

/* Says so where there is none, and where it has been looked for. */
static void ps_print_none(void)
{
	fprintf(stderr, "fastmap: no process with a control socket in "
		"/run/fastmap or $XDG_RUNTIME_DIR/fastmap%s (fastmap stat PID "
		"says why one has none)\n",
		geteuid() ? "; root sees those of all users" : "");
}

static void print_json(const struct live_process *all, size_t n,
		       json_t **stats)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (stats[i] || live_runs(all[i].pid))
			json_array_append_new(list,
					      ps_document(&all[i], stats[i]));
	json_dumpf(list, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(list);
}

static int ps_show(bool json)
{
	struct live_process *all;
	const size_t n = live_list(&all);
	json_t **stats = calloc(n + 1, sizeof(*stats));

	if (stats) {
		live_stats_of_all(all, n, stats);
		(json ? print_json : ps_print_all)(all, n, stats);
		if (!n && !json && !fflush(stdout))
			ps_print_none();
	}
	for (size_t i = 0; stats && i < n; i++)
		json_decref(stats[i]);
	free(stats);
	free(all);
	return stats ? 0 : 1;
}

int cmd_ps(int argc, char **argv)
{
	static int json;
	static const struct option known[] = {
		CMD_FLAG("json", json), CMD_HELP, { 0 },
	};
	const int r = cmd_flags(argc, argv, known, 0, 0, help);

	setlocale(LC_CTYPE, "");
	return r >= 0 ? r : ps_show(json);
}
