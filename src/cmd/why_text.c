/* SPDX-License-Identifier: MIT */
#include "why_text.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "glob.h"
#include "set.h"
#include "shown.h"
#include "stats_doc.h"

#define COLUMNS 4096 /* of a path */

static const json_t *choice_of(const json_t *file)
{
	return json_object_get(file, "choice");
}

static const json_t *changes_of(const json_t *file)
{
	return json_object_get(json_object_get(file, "served"), "changes");
}

static const json_t *last_change(const json_t *file)
{
	const json_t *all = changes_of(file);
	const size_t n = json_array_size(all);

	return n ? json_array_get(all, n - 1) : NULL;
}

/* The engine has had it; else the kernel from the start. */
static bool why_text_is_known(const json_t *file)
{
	return json_object_get(file, "open") != NULL;
}

/* ---- who ---------------------------------------------------------------- */

static void why_text_put_file(const json_t *stats, const json_t *file,
			      FILE *out)
{
	static wchar_t path[COLUMNS + 1];

	shown_text(doc_text(file, "path"), COLUMNS, false, path);
	fprintf(out, "%ls: %s, of process %d, %s\n", path,
		shown_size(doc_uint(file, "size")).s,
		(int)doc_uint(stats, "pid"),
		fm_base_name(doc_text(stats, "program")));
}

static void why_text_put_server(const char *server, const json_t *file,
				FILE *out)
{
	const json_t *served = json_object_get(file, "served");
	const char *text = !strcmp(server, "engine")  ? "the engine" :
			   !strcmp(server, "advised") ?
				"the kernel, with our advice" :
				"the kernel, without our advice";

	fprintf(out, "served by: %s", text);
	if (*doc_text(served, "by"))
		fprintf(out, " (since %s)", shown_uptime(
				(double)doc_uint(served, "by_ms") / 1000).s);
	fputc('\n', out);
}

/* ---- the kernel's ------------------------------------------------------- */

static const char *kind_text(const char *kind)
{
	static const char *const text[][2] = {
		{ "correctness", "else the bytes might be wrong" },
		{ "means", "the engine cannot" },
		{ "setting", "by a setting or a command" },
		{ "speed", "a matter of speed" },
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		if (!strcmp(kind, text[i][0]))
			return text[i][1];
	return kind;
}

static void put_reason(const json_t *c, FILE *out)
{
	const char *kind = doc_text(c, "kind");

	fprintf(out, "why: %s%s%s%s\n", doc_text(c, "why"), *kind ? " (" : "",
		kind_text(kind), *kind ? ")" : "");
}

/* A setting alone has been said with the reason. */
static void put_vetoes(const json_t *c, FILE *out)
{
	const json_t *vetoes = json_object_get(c, "vetoes"), *veto;
	size_t i;

	if (!strcmp(doc_text(c, "kind"), "setting") &&
	    json_array_size(vetoes) < 2)
		return;
	fprintf(out, "what forbids the engine: ");
	json_array_foreach(vetoes, i, veto)
		fprintf(out, "%s%s", i ? "; " : "", json_string_value(veto));
	fputs(json_array_size(vetoes) ? "\n" :
	      "nothing, it could serve it\n", out);
}

/* Bytes of a word that ends the text, or stands before "for its path". */
static size_t value_in(const char *at)
{
	const size_t n = strcspn(at, " ;,");

	return at[n] != ' ' || !strncmp(at + n, " for ", 5) ? n : 0;
}

/* Behind "NAME is" in it, as one says of an option. */
static const char *option_in(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += len)
		if ((at == text || at[-1] == ' ') &&
		    !strncmp(at + len, " is ", 4))
			return at + len + 4;
	return NULL;
}

static void put_where_set(const char *text, FILE *out)
{
	for (unsigned i = 0; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];
		const char *is = o->env ? option_in(text, o->name) : NULL;
		char value[32] = "VALUE";

		if (!is)
			continue;
		if (value_in(is))
			snprintf(value, sizeof(value), "%.*s",
				 (int)value_in(is), is);
		fprintf(out, "where to set it: %s=%s or fastmap run --%s %s "
			"when it is started, or '%s = %s' in a policy file "
			"(docs/options.md)\n", o->env, value, o->name, value,
			o->name, value);
	}
}

static void put_remedy(const json_t *c, FILE *out)
{
	const char *remedy = doc_text(c, "remedy");
	const char *until = doc_text(c, "until");

	fprintf(out, "what would change that: %s%s\n",
		*until ? "when " : "",
		*until ? until : *remedy ? remedy :
		"nothing that can be set; the program would have to act "
		"otherwise");
	if (*until && *remedy)
		fprintf(out, "remedy: %s\n", remedy);
	put_where_set(until, out);
}

static void put_return(const json_t *file, const json_t *c, FILE *out)
{
	const bool may = json_is_true(json_object_get(c, "may_return"));
	const double s = (double)doc_uint(c, "not_before_ms") / 1000;

	fprintf(out, "without a restart: ");
	if (!why_text_is_known(file))
		fprintf(out, "%s\n", may ? "yes, when it is mapped again, or "
			"the program is seen to wait for it" :
			"no, unless that changes and it is mapped again");
	else if (!may)
		fprintf(out, "no, not in this process: the next one decides "
			"anew\n");
	else if (s > 0)
		fprintf(out, "yes, not before %.1f s from now, once that has "
			"changed\n", s);
	else if (!strcmp(doc_text(c, "kind"), "setting"))
		fprintf(out, "yes, at once\n");
	else
		fprintf(out, "yes, some seconds after that has changed: each "
			"attempt in vain doubles the wait (the option "
			"promote)\n");
}

static void why_text_put_kernels(const json_t *file, FILE *out)
{
	const json_t *c = choice_of(file);

	put_reason(c, out);
	put_vetoes(c, out);
	put_remedy(c, out);
	put_return(file, c, out);
}

/* ---- the engine's ------------------------------------------------------- */

static void put_engines(const json_t *file, FILE *out)
{
	const json_t *last = last_change(file);

	fprintf(out, "why: %s%s\n", last ? "promoted: " : "",
		last ? doc_text(last, "why") :
		"nothing forbids it, and nothing is known to be faster here");
	fprintf(out, "what would change that: another process, a faster kernel "
		"as measured, fastmap demote\n");
}

/* ---- figures ------------------------------------------------------------ */

struct cost {
	char s[32];
};

static struct cost cost_of(uint64_t ns, const char *unknown)
{
	struct cost c;

	if (!ns)
		snprintf(c.s, sizeof(c.s), "%s", unknown);
	else if (ns < 1000)
		snprintf(c.s, sizeof(c.s), "%uns", (unsigned)ns);
	else if (ns < 9950)
		snprintf(c.s, sizeof(c.s), "%.1fus", (double)ns / 1000);
	else
		shown_time((double)ns / 1000, c.s);
	return c;
}

/* Both or neither. What misses nothing costs nothing. */
static void put_costs(const json_t *file, FILE *out)
{
	const json_t *c = choice_of(file);
	const uint64_t engine = doc_uint(c, "engine_cost_ns");
	const uint64_t kernel = doc_uint(c, "kernel_cost_ns");

	if (!engine && !kernel)
		fprintf(out, "cost of an access: not compared, for %s\n",
			why_text_is_known(file) ?
			"the program has not waited for the engine much" :
			"the engine has not had it");
	else
		fprintf(out, "cost of an access: engine %s, kernel %s\n",
			cost_of(engine, "0ns").s, cost_of(kernel, "0ns").s);
}

/* What it has cost so far, whatever else is known. */
static void put_faults(const json_t *file, FILE *out)
{
	const uint64_t n = doc_faults(file);
	char b[SHOWN_NUMBER];

	if (n)
		fprintf(out, "the engine's faults: %s, %s each, %.0f %% "
			"answered from memory\n", shown_count((double)n, b),
			cost_of(doc_uint(file, "spent_ns") / n, "0us").s,
			doc_real(file, "hit_percent"));
}

static void put_waits(const json_t *file, FILE *out)
{
	const double engine = doc_real(file, "engine_loses");
	const double kernel = doc_real(file, "kernel_loses");

	if (engine > 0 || kernel > 0)
		fprintf(out, "threads that waited, when that was seen last: "
			"engine %.2f, kernel %.2f\n", engine, kernel);
}

static void put_silence(const json_t *file, FILE *out)
{
	char buf[DOC_WAITS];
	const char *text = doc_waits(file, buf);

	if (*text)
		fprintf(out, "now: %s\n", text);
}

/* ---- the last decisions ------------------------------------------------- */

static void put_change(const json_t *c, FILE *out)
{
	const time_t at = (time_t)doc_real(c, "time");
	struct tm tm;
	char when[32] = "";

	if (localtime_r(&at, &tm))
		strftime(when, sizeof(when), "%m-%d %H:%M:%S", &tm);
	fprintf(out, "%-14s %-7s %-7s %7s %7s %s\n", when,
		doc_text(c, "from"), doc_text(c, "to"),
		cost_of(doc_uint(c, "engine_cost_ns"), "-").s,
		cost_of(doc_uint(c, "kernel_cost_ns"), "-").s,
		doc_text(c, "why"));
}

static void put_changes(const json_t *file, FILE *out)
{
	const json_t *all = changes_of(file);
	size_t n = json_array_size(all);

	if (!n) {
		fprintf(out, "last decisions: none since it was mapped\n");
		return;
	}
	fprintf(out, "last decisions, the newest first, with the costs of an "
		"access then:\n%-14s %-7s %-7s %7s %7s %s\n", "TIME", "FROM",
		"TO", "ENGINE", "KERNEL", "WHY");
	while (n--)
		put_change(json_array_get(all, n), out);
}

void why_text(const json_t *stats, const json_t *file, FILE *out)
{
	const char *server = doc_server(stats, file);

	why_text_put_file(stats, file, out);
	why_text_put_server(server, file, out);
	if (strcmp(server, "engine"))
		why_text_put_kernels(file, out);
	else
		put_engines(file, out);
	put_costs(file, out);
	put_faults(file, out);
	put_waits(file, out);
	put_silence(file, out);
	put_changes(file, out);
}
