/* SPDX-License-Identifier: MIT */
/*
 * stat.c - fastmap stat: what a running process serves, file by file.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "cmd.h"
#include "live.h"
#include "loop.h"
#include "shown.h"
#include "stats_doc.h"

#define MOST_S 86400
#define EXACT JSON_REAL_PRECISION(15)

static const char help[] =
	"usage: fastmap stat [OPTION...] WHO [SECONDS]\n\n"
	"What a running process serves, file by file: by whom and why, what is "
	"resident\nand dirty, faults a second (since the start, or since the "
	"line before), of a\nhundred faults those answered from memory, bytes "
	"read for each byte wanted, which\npolicy chooses what makes room. WHO "
	"is a process id, the name of a program, or a\nsocket.\n\n"
	"  --watch                 again every SECONDS (default 1) until it "
	"ends\n"
	"  --json                  the statistics themselves, with --watch a "
	"line each time\n"
	"  --prometheus            metrics in Prometheus' text format, once\n";

static int watch;

/* ---- the table ---------------------------------------------------------- */

/* A file that has been given up and come back counts from 0 again. */
static double rate(const json_t *stats, const json_t *before, const json_t *f)
{
	const json_t *was = doc_find(before, f);
	double n = (double)doc_faults(f), t = doc_real(stats, "uptime");

	if (was && doc_faults(was) <= doc_faults(f)) {
		n -= (double)doc_faults(was);
		t -= doc_real(before, "uptime");
	}
	return t > 0 ? n / t : 0;
}

static void stat_print_file(const json_t *stats, const json_t *before,
			    const json_t *f)
{
	const char *server = doc_server(stats, f);
	const bool engine = !strcmp(server, "engine");

	printf("%-7s %8s ", server, shown_size(doc_uint(f, "size")).s);
	if (engine)
		printf("%8s %7s %8.0f %5.1f %5.2f %-7s ",
		       shown_size(doc_uint(f, "resident_bytes")).s,
		       shown_size(doc_uint(f, "dirty_bytes")).s,
		       rate(stats, before, f), doc_real(f, "hit_percent"),
		       doc_real(f, "read_amplification"),
		       doc_text(f, "eviction"));
	else
		printf("%8s %7s %8s %5s %5s %-7s ", "-", "-", "-", "-", "-",
		       "-");
	shown_print(doc_text(f, "path"));
	printf("%s%s%s\n", engine ? "" : " (",
	       engine ? "" : doc_why(f), engine ? "" : ")");
}

/* "heap: 3.0G in the file, 64M in memory, of 64G; 2.1G paged out, 95 % used" */
static void stat_print_heap(const json_t *h)
{
	const uint64_t file = doc_uint(h, "file_bytes");
	const uint64_t all = file + doc_uint(h, "memory_bytes");

	printf("heap: %s in the file, %s in memory, of %s; %s paged out",
	       shown_size(file).s, shown_size(doc_uint(h, "memory_bytes")).s,
	       shown_size(doc_uint(h, "limit_bytes")).s,
	       shown_size(doc_uint(h, "paged_out_bytes")).s);
	if (all && json_is_integer(json_object_get(h, "used_bytes")))
		printf(", %.0f %% used",
		       100.0 * (double)doc_uint(h, "used_bytes") / (double)all);
	putchar('\n');
}

static void stat_print_head(const json_t *s)
{
	const json_t *heap = json_object_get(s, "heap");
	const json_t *cache = json_object_get(s, "cache");
	const json_t *latency = json_object_get(s, "latency");

	printf("process %d, ", (int)doc_uint(s, "pid"));
	shown_print(doc_text(s, "program"));
	printf(", up %s\n", shown_uptime(doc_real(s, "uptime")).s);
	printf("cache: %s of %s resident, %s dirty\n",
	       shown_size(doc_uint(cache, "resident_bytes")).s,
	       shown_size(doc_uint(cache, "limit_bytes")).s,
	       shown_size(doc_uint(cache, "dirty_bytes")).s);
	if (json_is_object(heap))
		stat_print_heap(heap);
	if (doc_uint(latency, "count"))
		printf("faults: median %.0f us, 99 %% within %.0f us, "
		       "by %s\n",
		       doc_real(latency, "p50_us"),
		       doc_real(latency, "p99_us"),
		       doc_text(json_object_get(s, "delivery"), "how"));
}

static void show_table(const json_t *stats, const json_t *before)
{
	json_t *files = doc_files(stats), *f;
	size_t i;

	if (watch && shown_draws(1))
		fputs("\033[H\033[J", stdout);
	stat_print_head(stats);
	printf("\n%-7s %8s %8s %7s %8s %5s %5s %-7s %s\n", "SERVER",
	       "SIZE", "RESIDENT", "DIRTY", "FAULTS/S", "HIT%", "AMPL",
	       "EVICT", "FILE");
	json_array_foreach(files, i, f)
		stat_print_file(stats, before, f);
	json_decref(files);
	if (watch && !shown_draws(1))
		putchar('\n');
}

static void stat_show_json(const json_t *stats, const json_t *before)
{
	json_dumpf(stats, stdout,
		   EXACT | (watch ? JSON_COMPACT : JSON_INDENT(1)));
	putchar('\n');
}

/* ---- again and again ---------------------------------------------------- */

struct watching {
	struct live_process of;
	void (*show)(const json_t *stats, const json_t *before);
	json_t *before;
	uint64_t ms;
	uv_timer_t timer;
	bool over;
};

static void show_next(struct watching *w, json_t *now)
{
	w->show(now, w->before);
	json_decref(w->before);
	w->before = now;
	w->over = fflush(stdout) || !watch;
}

static void stat_ask(uv_timer_t *t);

/* That it ends while it is watched is no error. */
static void stat_answered(char *text, int err, void *arg)
{
	struct watching *w = arg;
	json_t *now = text ? shown_json(json_loads(text, 0, NULL)) : NULL;

	free(text);
	errno = err;
	if (err)
		live_say_failure(w->of.socket);
	w->over = !now;
	if (now)
		show_next(w, now);
	if (!w->over)
		uv_timer_start(&w->timer, stat_ask, w->ms, 0);
}

static void stat_ask(uv_timer_t *t)
{
	struct watching *w = t->data;
	const struct call_plan plan = {
		.of = &w->of, .line = "stats", .ms = CALL_ANSWER_MS,
		.done = stat_answered, .arg = w,
	};

	w->over = !call_begin(&plan);
}

static int show_all(const char *who, double seconds,
		    void (*show)(const json_t *stats, const json_t *before))
{
	struct watching w = { .show = show, .ms = (uint64_t)(seconds * 1e3) };
	json_t *now = live_stats(who);

	if (!now)
		return 1;
	show_next(&w, now);
	if (!w.over && !live_meet(who, &w.of)) {
		uv_timer_init(uv_default_loop(), &w.timer);
		w.timer.data = &w;
		uv_timer_start(&w.timer, stat_ask, w.ms, 0);
		while (!w.over)
			loop_turn();
		loop_close((uv_handle_t *)&w.timer);
	}
	json_decref(w.before);
	return 0;
}

/* As the process itself writes them (src/observe/metrics.c). */
static int show_metrics(const char *who)
{
	char *text = live_ask(who, "metrics");

	if (!text)
		return 1;
	shown_lines(text, stdout);
	free(text);
	return 0;
}

int cmd_stat(int argc, char **argv)
{
	static int metrics, json;
	static const struct option known[] = {
		CMD_FLAG("watch", watch), CMD_FLAG("json", json),
		CMD_FLAG("prometheus", metrics), CMD_HELP, { 0 },
	};
	const int r = cmd_flags(argc, argv, known, 1, 2, help);
	const bool timed = argc - optind == 2;
	double seconds = 1;

	setlocale(LC_CTYPE, "");
	if (r >= 0)
		return r;
	if (metrics && json)
		return cmd_usage(help, "--json or --prometheus");
	if (metrics && watch)
		return cmd_usage(help, "--prometheus is once, not --watch");
	if (timed && !watch)
		return cmd_usage(help, "SECONDS are for --watch");
	if (timed && !cmd_between(argv[optind + 1], 0.1, MOST_S, &seconds)) {
		fprintf(stderr, "fastmap: bad number of seconds '%s': 0.1 to "
			"%d\n", argv[optind + 1], MOST_S);
		return 2;
	}
	return metrics ? show_metrics(argv[optind]) :
			 show_all(argv[optind], seconds,
				  json ? stat_show_json : show_table);
}
