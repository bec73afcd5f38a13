/* SPDX-License-Identifier: MIT */
/* compare_report.c - the table, and the same as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "compare.h"
#include "set.h"

#define MIB 1048576.0

static const struct row {
	const char *label, *key, *unit;
	metric *of;
	double unit_size;
	int digits;
} rows[] = {
	{ "time", "seconds", "s", metric_seconds, 1, 2 },
	{ "CPU", "cpu_seconds", "s", metric_cpu, 1, 2 },
	{ "read", "read_bytes", "MiB", metric_read, MIB, 0 },
	{ "peak of the group", "peak_bytes", "MiB", metric_peak, MIB, 0 },
	{ "largest process", "rss_bytes", "MiB", metric_rss, MIB, 0 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- the table --------------------------------------------------------- */

static void compare_report_cell(const struct row *r, struct spread s)
{
	char range[48], text[96];

	snprintf(range, sizeof(range), "%.*f .. %.*f", r->digits,
		 s.least / r->unit_size, r->digits, s.most / r->unit_size);
	snprintf(text, sizeof(text), "%.*f %s (%s)", r->digits,
		 s.median / r->unit_size, r->unit, range);
	printf("  %-27s", text);
}

static void table_row(const struct comparison *c, const struct row *r)
{
	const struct spread n = spread_of(c, NATIVE, r->of),
			    f = spread_of(c, FASTMAP, r->of);

	if (n.most <= 0 && f.most <= 0)
		return;
	printf("%-17s", r->label);
	compare_report_cell(r, n);
	compare_report_cell(r, f);
	if (f.least > 0)
		printf("  %.2f\n", ratio_of(c, r->of).median);
	else
		printf("  -\n");
}

static void told_of_memory(const struct comparison *c)
{
	if (c->memory && !c->no_memory)
		printf("memory: %.0f MiB, by a control group\n",
		       (double)c->memory / MIB);
	else if (c->no_memory)
		printf("memory: NOT limited: %s\n", c->no_memory);
	else
		printf("memory: not limited (--memory SIZE does)\n");
}

static void told_of_cache(const struct comparison *c)
{
	static const char *const how[] = {
		"cold before each run, of the files below the paths",
		"cold before each run (drop_caches)",
		"left as it is"
	};

	printf("page cache: %s\n", how[c->cold]);
	if (c->stayed)
		printf("  %.0f MiB of them stayed: another process maps them\n",
		       (double)c->stayed * 4096 / MIB);
}

/* A miss of the kernel's costs that much, on the device of the first path. */
static void told_of_readahead(const char *paths)
{
	char path[4096], kib[16] = "";
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(paths, ":"), paths);
	if (stat(path, &st))
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
		 major(st.st_dev), minor(st.st_dev));
	f = fopen(path, "re");
	if (f && fscanf(f, "%15s", kib) == 1)
		printf("readahead of the kernel there: %s KiB\n", kib);
	if (f)
		fclose(f);
}

static void told_of_paths(const struct comparison *c)
{
	if (!c->paths)
		return;
	printf("paths: %s%s\n", c->paths,
	       c->guessed ? " (the arguments name it)" : "");
	told_of_readahead(c->paths);
}

static void told_of_input(void)
{
	printf("standard input: %s\n", trial_has_input() ?
	       "a file, read again by each run" :
	       "empty (a file would be read again by each run)");
}

static void told_of_leavers(const struct comparison *c)
{
	enum side s;
	const struct trial *t = left_behind(c, &s);

	if (t)
		printf("left behind %s: %s; %s\n",
		       s == NATIVE ? "natively" : "with the library", t->left,
		       c->memory && !c->no_memory ?
		       "ended with its control group" :
		       "it runs on, and may disturb the runs after it");
}

static void told_of_memory_kills(const struct comparison *c)
{
	static const char *const names[] = { "natively", "with the library" };

	for (int s = 0; s < SIDES; s++)
		for (unsigned i = 0; i < c->rounds; i++)
			if (c->trial[s][i].out_of_memory) {
				printf("killed for want of memory %s\n",
				       names[s]);
				break;
			}
}

static void told_of_outcome(const struct comparison *c)
{
	const struct trial *t = &c->trial[NATIVE][0];

	if (WIFSIGNALED(t->status))
		printf("natively it ends by signal %d (%s)\n",
		       WTERMSIG(t->status), strsignal(WTERMSIG(t->status)));
	else if (WEXITSTATUS(t->status))
		printf("natively it ends with status %d\n",
		       WEXITSTATUS(t->status));
	printf("stdout: %lu bytes, md5 %s\n", (unsigned long)t->bytes, t->sum);
	for (unsigned i = 0; i < c->files; i++)
		printf("%s: %s%s\n", c->same[i].path,
		       *c->first[i] ? "md5 " : "no such file", c->first[i]);
	for (unsigned i = 0; i < ITEM_FILES + c->files; i++)
		if (c->differs[FASTMAP][i])
			printf("with the library DIFFERENT: %s\n",
			       item_name(c, i));
}

static void told_of_serving(const struct comparison *c)
{
	const struct served *s = &c->served;

	if (s->files)
		printf("served: %lu file%s, %lu faults, %.0f MiB read, cache at "
		       "most %.0f MiB\n", (unsigned long)s->files,
		       s->files == 1 ? "" : "s",
		       (unsigned long)s->faults, (double)s->read / MIB,
		       (double)s->cache / MIB);
	if (*s->left)
		printf("left to the kernel: %s\n", s->left);
}

/* "FASTMAP_CACHE=1G": what the library was told, not what this command adds. */
static bool is_setting(const char *variable)
{
	const size_t n = strcspn(variable, "=");

	for (unsigned i = 0; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];

		if (o->env && strlen(o->env) == n &&
		    !memcmp(o->env, variable, n))
			return strcmp(o->name, "stats") &&
			       strcmp(o->name, "summary") &&
			       strcmp(o->name, "warm-start");
	}
	return !strncmp(variable, "FASTMAP_POLICY=", n + 1);
}

static void told_of_settings(const struct comparison *c)
{
	printf("settings: LD_PRELOAD=%s", c->library);
	for (char **e = environ; *e; e++)
		if (is_setting(*e))
			printf(" %s", *e);
	printf("\n");
}

void report_table(const struct comparison *c)
{
	told_of_memory(c);
	told_of_cache(c);
	told_of_paths(c);
	told_of_input();
	printf("\n%-17s  %-27s  %-27s  %s\n", "", "native", "fastmap",
	       "native/fastmap");
	for (unsigned i = 0; i < ROWS; i++)
		table_row(c, &rows[i]);
	printf("(median of %u round%s in turns, least .. most; of the ratio "
	       "within a round)\n\n", c->rounds, c->rounds == 1 ? "" : "s");
	told_of_outcome(c);
	told_of_leavers(c);
	told_of_memory_kills(c);
	told_of_serving(c);
	told_of_settings(c);
	printf("\n%s.\n", verdict(c));
}

/* ---- JSON -------------------------------------------------------------- */

static void json_side(struct fm_json *j, const struct comparison *c,
		      enum side s, const char *name)
{
	fm_json_open(j, name, '{');
	for (unsigned r = 0; r < ROWS; r++) {
		fm_json_open(j, rows[r].key, '[');
		for (unsigned i = 0; i < c->rounds; i++) {
			double v = rows[r].of(&c->trial[s][i]);

			if (rows[r].digits)
				fm_json_milli(j, NULL, (uint64_t)(v * 1000));
			else
				fm_json_uint(j, NULL, (uint64_t)v);
		}
		fm_json_close(j, ']');
	}
	fm_json_open(j, "stdout_md5", '[');
	for (unsigned i = 0; i < c->rounds; i++)
		fm_json_text(j, NULL, c->trial[s][i].sum);
	fm_json_close(j, ']');
	fm_json_open(j, "wait_status", '[');
	for (unsigned i = 0; i < c->rounds; i++)
		fm_json_uint(j, NULL, (uint64_t)c->trial[s][i].status);
	fm_json_close(j, ']');
	fm_json_open(j, "left_behind", '[');
	for (unsigned i = 0; i < c->rounds; i++)
		fm_json_text(j, NULL, *c->trial[s][i].left ?
				      c->trial[s][i].left : NULL);
	fm_json_close(j, ']');
	fm_json_open(j, "differs", '[');
	for (unsigned i = 0; i < ITEM_FILES + c->files; i++)
		if (c->differs[s][i])
			fm_json_text(j, NULL, item_name(c, i));
	fm_json_close(j, ']');
	fm_json_close(j, '}');
}

static void json_served(struct fm_json *j, const struct comparison *c)
{
	const struct served *s = &c->served;

	fm_json_open(j, "served", '{');
	fm_json_uint(j, "files", s->files);
	fm_json_uint(j, "faults", s->faults);
	fm_json_uint(j, "load_bytes", s->read);
	fm_json_uint(j, "cache_limit_bytes", s->cache);
	fm_json_text(j, "left_to_kernel", *s->left ? s->left : NULL);
	fm_json_close(j, '}');
}

static void json_settings(struct fm_json *j, const struct comparison *c)
{
	fm_json_open(j, "settings", '{');
	fm_json_text(j, "LD_PRELOAD", c->library);
	for (char **e = environ; *e; e++) {
		size_t n = strcspn(*e, "=");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)n, *e);
		if (is_setting(*e) && (*e)[n])
			fm_json_text(j, name, *e + n + 1);
	}
	fm_json_close(j, '}');
}

static void json_program(struct fm_json *j, const struct comparison *c)
{
	static const char *const cold[] = { "files", "all", "no" };

	fm_json_open(j, "program", '[');
	for (char **a = c->argv; *a; a++)
		fm_json_text(j, NULL, *a);
	fm_json_close(j, ']');
	fm_json_text(j, "paths", c->paths);
	fm_json_uint(j, "memory_bytes", c->no_memory ? 0 : c->memory);
	fm_json_text(j, "memory_why_not", c->no_memory);
	fm_json_text(j, "cold", cold[c->cold]);
	fm_json_uint(j, "stayed_bytes", c->stayed * 4096);
	fm_json_bool(j, "input", trial_has_input());
	fm_json_uint(j, "rounds", c->rounds);
}

void report_json(const struct comparison *c)
{
	const struct spread r = ratio_of(c, metric_seconds);
	struct fm_json j = { 0 };

	fm_json_open(&j, NULL, '{');
	fm_json_uint(&j, "schema", 1);
	json_program(&j, c);
	json_side(&j, c, NATIVE, "native");
	json_side(&j, c, FASTMAP, "fastmap");
	fm_json_milli(&j, "ratio", (uint64_t)(r.median * 1000));
	fm_json_bool(&j, "same", same_output(c));
	json_served(&j, c);
	json_settings(&j, c);
	fm_json_text(&j, "verdict", verdict(c));
	fm_json_close(&j, '}');
	fwrite(j.text, 1, j.len, stdout);
	putchar('\n');
	fm_json_free(&j);
}
