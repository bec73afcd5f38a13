/* SPDX-License-Identifier: MIT */
/* live_all.c - many processes asked at the same time: who is silent keeps the
 * others from nothing. */
#include <stdlib.h>

#include "call.h"
#include "live.h"
#include "loop.h"
#include "shown.h"

#define LIST_MS 1000 /* who answers at all does it in milliseconds */
#define SHORT_MS 50  /* who seems to be stopped may have answered before */
#define MOST 64      /* connections at a time: descriptors are scarce */

struct asked {
	const struct live_process *p;
	size_t n, next, open;
	json_t **stats;
};

struct one {
	struct asked *of;
	size_t i;
};

static void ask_more(struct asked *a);

static void live_all_answered(char *text, int err, void *arg)
{
	struct one *one = arg;
	struct asked *a = one->of;

	a->stats[one->i] = text ? shown_json(json_loads(text, 0, NULL)) : NULL;
	a->open--;
	free(text);
	free(one);
	ask_more(a);
}

static void live_all_ask(struct asked *a, size_t i)
{
	struct one *one = malloc(sizeof(*one));
	const struct call_plan plan = {
		.of = &a->p[i],
		.line = "stats",
		.done = live_all_answered,
		.arg = one,
		.ms = call_is_stopped(a->p[i].pid) ? SHORT_MS : LIST_MS,
	};

	a->stats[i] = NULL;
	if (!one)
		return;
	*one = (struct one){ a, i };
	if (call_begin(&plan))
		a->open++;
	else
		free(one);
}

static void ask_more(struct asked *a)
{
	while (a->open < MOST && a->next < a->n)
		live_all_ask(a, a->next++);
}

void live_stats_of_all(const struct live_process *p, size_t n, json_t **ret)
{
	struct asked a = { .p = p, .n = n, .stats = ret };

	ask_more(&a);
	while (a.open)
		loop_turn();
}
