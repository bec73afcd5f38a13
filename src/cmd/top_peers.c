/* SPDX-License-Identifier: MIT */
#include "top_peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"

#define LIST_EVERY 4 /* looks: who is new */

static bool top_peers_grow(struct top_peers *t)
{
	const unsigned room = t->room ? 2 * t->room : 8;
	void *more = realloc(t->peer, room * sizeof(*t->peer));

	if (!more)
		return false;
	t->peer = more;
	t->room = room;
	return true;
}

static bool top_peers_add(struct top_peers *t, const struct live_process *of)
{
	struct top_peer *p = t->n < t->room || top_peers_grow(t) ?
				     calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return false;
	p->all = t;
	p->of = *of;
	t->peer[t->n++] = p;
	return true;
}

static bool top_peers_is_known(const struct top_peers *t, const char *socket)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!strcmp(t->peer[i]->of.socket, socket))
			return true;
	return false;
}

static void top_peers_list(struct top_peers *t)
{
	struct live_process *all = NULL;
	const size_t n = live_list(&all);

	for (size_t i = 0; i < n; i++)
		if (!top_peers_is_known(t, all[i].socket))
			top_peers_add(t, &all[i]);
	free(all);
}

int top_peers_begin(struct top_peers *t, const char *who)
{
	struct live_process of;

	memset(t, 0, sizeof(*t));
	t->many = !who;
	if (!who)
		return 0;
	return !live_meet(who, &of) && top_peers_add(t, &of) ? 0 : -1;
}

static void top_peers_drop(struct top_peer *p)
{
	call_cancel(p->call);
	top_process_free(p->now);
	free(p);
}

void top_peers_end(struct top_peers *t)
{
	for (unsigned i = 0; i < t->n; i++)
		top_peers_drop(t->peer[i]);
	free(t->peer);
	memset(t, 0, sizeof(*t));
}

/* The process has ended. */
static void leave_out(struct top_peer *p)
{
	struct top_peers *t = p->all;
	unsigned i = 0;

	while (t->peer[i] != p)
		i++;
	if (p->now)
		snprintf(t->said, sizeof(t->said), "%d %.200s has ended",
			 p->now->pid, p->now->program);
	memmove(&t->peer[i], &t->peer[i + 1],
		(--t->n - i) * sizeof(t->peer[0]));
	top_peers_drop(p);
}

/* Since the last look. Its row, if it has one, is what it was. */
static void top_peers_say_silent(struct top_peers *t, const struct top_peer *p)
{
	const char *name = p->now ? p->now->program : p->of.name;

	snprintf(t->said, sizeof(t->said),
		 "%d%s%.200s does not answer; is it stopped?", (int)p->of.pid,
		 *name ? " " : "", name);
}

bool top_peers_silent(struct top_peers *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i]->call || !t->peer[i]->now) {
			top_peers_say_silent(t, t->peer[i]);
			return true;
		}
	return false;
}

/* What cannot be read is no answer: it stays as it was. */
static void top_peers_heard(struct top_peer *p, const char *text)
{
	json_t *doc = shown_json(json_loads(text, 0, NULL));
	struct top_process *now = doc ? top_process_new(doc) : NULL;

	json_decref(doc);
	if (!now)
		return;
	top_rates(now, p->now);
	top_process_free(p->now);
	p->now = now;
}

static void top_peers_answered(char *text, int err, void *arg)
{
	struct top_peer *p = arg;
	struct top_peers *t = p->all;

	p->call = NULL;
	t->asked--;
	if (text)
		top_peers_heard(p, text);
	else if (err == EAGAIN) /* nor does it accept any more */
		top_peers_say_silent(t, p);
	else
		leave_out(p);
	free(text);
	if (t->news)
		t->news(t->arg);
}

static void ask_one(struct top_peer *p)
{
	const struct call_plan plan = {
		.of = &p->of,
		.line = "stats",
		.done = top_peers_answered,
		.arg = p,
	};

	p->call = call_begin(&plan);
	p->all->asked += p->call != NULL;
}

void top_peers_ask(struct top_peers *t)
{
	if (t->many && t->looks++ % LIST_EVERY == 0)
		top_peers_list(t);
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i]->call)
			top_peers_say_silent(t, t->peer[i]);
		else
			ask_one(t->peer[i]);
}

struct top_peer *top_peers_find(struct top_peers *t, pid_t pid)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i]->now && t->peer[i]->now->pid == pid)
			return t->peer[i];
	return NULL;
}
