/* SPDX-License-Identifier: MIT */
/* verdict.c - what the runs say: medians, what differs, one sentence. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "compare.h"

double metric_seconds(const struct trial *t)
{
	return t->seconds;
}

double metric_cpu(const struct trial *t)
{
	return t->cpu;
}

double metric_read(const struct trial *t)
{
	return (double)t->read;
}

double metric_peak(const struct trial *t)
{
	return (double)t->peak;
}

double metric_rss(const struct trial *t)
{
	return (double)t->rss;
}

static int order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static struct spread sorted(double *v, unsigned n)
{
	qsort(v, n, sizeof(v[0]), order);
	return (struct spread){ (v[n / 2] + v[(n - 1) / 2]) / 2, v[0],
				v[n - 1] };
}

struct spread spread_of(const struct comparison *c, enum side s, metric *m)
{
	double v[MOST_ROUNDS];

	for (unsigned i = 0; i < c->rounds; i++)
		v[i] = m(&c->trial[s][i]);
	return sorted(v, c->rounds);
}

struct spread ratio_of(const struct comparison *c, metric *m)
{
	double v[MOST_ROUNDS];

	for (unsigned i = 0; i < c->rounds; i++) {
		double f = m(&c->trial[FASTMAP][i]);

		v[i] = f > 0 ? m(&c->trial[NATIVE][i]) / f : 0;
	}
	return sorted(v, c->rounds);
}

const struct trial *left_behind(const struct comparison *c, enum side *ret)
{
	for (int s = 0; s < SIDES; s++)
		for (unsigned i = 0; i < c->rounds; i++)
			if (*c->trial[s][i].left) {
				*ret = (enum side)s;
				return &c->trial[s][i];
			}
	return NULL;
}

/* ---- what differs ------------------------------------------------------ */

const char *item_name(const struct comparison *c, unsigned item)
{
	if (item == ITEM_OUTPUT)
		return "stdout";
	if (item == ITEM_STATUS)
		return "exit status";
	return c->same[item - ITEM_FILES].path;
}

static bool any_differs(const struct comparison *c, enum side s)
{
	for (unsigned i = 0; i < ITEM_FILES + c->files; i++)
		if (c->differs[s][i])
			return true;
	return false;
}

bool differs_natively(const struct comparison *c)
{
	return any_differs(c, NATIVE);
}

bool fails_natively(const struct comparison *c)
{
	for (unsigned i = 0; i < c->rounds; i++)
		if (c->trial[NATIVE][i].status)
			return true;
	return false;
}

bool same_output(const struct comparison *c)
{
	return !any_differs(c, NATIVE) && !any_differs(c, FASTMAP);
}

bool too_little_memory(const struct comparison *c)
{
	for (unsigned i = 0; i < c->rounds; i++)
		if (c->trial[NATIVE][i].out_of_memory)
			return true;
	return false;
}

/* "stdout, /tmp/out" */
static const char *verdict_names(const struct comparison *c, enum side s)
{
	static char text[2048];
	size_t at = 0;

	for (unsigned i = 0; i < ITEM_FILES + c->files; i++)
		if (c->differs[s][i] && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%s", at ? ", " : "",
					       item_name(c, i));
	return text;
}

/* ---- one sentence ------------------------------------------------------ */

static const char *about_output(const struct comparison *c)
{
	static char text[2560];

	if (any_differs(c, NATIVE))
		snprintf(text, sizeof(text), "%s differs from run to run "
			 "without the library, too: what it prints cannot be "
			 "compared", verdict_names(c, NATIVE));
	else if (any_differs(c, FASTMAP))
		snprintf(text, sizeof(text), "DIFFERENT: %s",
			 verdict_names(c, FASTMAP));
	else
		return "same output";
	return text;
}

/* What nobody notices: of the time, or to load the library. */
#define ALIKE 0.03
#define SHORT 0.02 /* s */

static bool alike(const struct comparison *c)
{
	for (unsigned i = 0; i < c->rounds; i++)
		if (fabs(c->trial[NATIVE][i].seconds -
			 c->trial[FASTMAP][i].seconds) < SHORT)
			return true;
	return false;
}

bool is_faster(const struct comparison *c)
{
	return c->served.files && c->rounds > 1 && !alike(c) &&
	       ratio_of(c, metric_seconds).least > 1 + ALIKE;
}

/* By the ratio within each round: what drifts on the machine from round to
 * round hits both. */
static void speed(const struct comparison *c, char *ret, size_t size)
{
	const struct spread n = spread_of(c, NATIVE, metric_seconds),
			    f = spread_of(c, FASTMAP, metric_seconds),
			    r = ratio_of(c, metric_seconds);

	if (!c->served.files)
		snprintf(ret, size, "%.2f s, natively %.2f s", f.median,
			 n.median);
	else if (c->rounds == 1)
		snprintf(ret, size, "%.2f s, natively %.2f s: one round does "
			 "not tell which is faster (--rounds)", f.median,
			 n.median);
	else if (alike(c))
		snprintf(ret, size, "no difference in time worth the name "
			 "(%.2f s, natively %.2f s)", f.median, n.median);
	else if (is_faster(c))
		snprintf(ret, size, "%.2f times as fast with the library "
			 "(%.2f s instead of %.2f s)", r.median, f.median,
			 n.median);
	else if (r.most < 1 - ALIKE)
		snprintf(ret, size, "SLOWER with the library, %.2f times as "
			 "fast (%.2f s instead of %.2f s)", r.median,
			 f.median, n.median);
	else
		snprintf(ret, size, "no difference in time that %u round%s "
			 "can tell (%.2f s, natively %.2f s)", c->rounds,
			 c->rounds == 1 ? "" : "s", f.median, n.median);
}

static const char *about_serving(const struct comparison *c)
{
	static char text[768];

	if (c->served.files)
		return "";
	if (!c->served.processes)
		return "; the library served nothing: no file below the paths "
		       "was mapped";
	snprintf(text, sizeof(text), "; the library served nothing%s%s",
		 *c->served.left ? ": " : "", c->served.left);
	return text;
}

const char *verdict(const struct comparison *c)
{
	static char text[4096];
	char fast[160];

	if (too_little_memory(c))
		return "nothing can be compared: without the library it was "
		       "killed for want of memory; give it more (--memory)";
	if (fails_natively(c) && same_output(c))
		return "nothing can be compared: without the library, too, it "
		       "fails (its status is above)";
	speed(c, fast, sizeof(fast));
	snprintf(text, sizeof(text), "%s; %s%s", about_output(c), fast,
		 about_serving(c));
	return text;
}
