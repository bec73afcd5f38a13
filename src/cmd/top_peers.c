/* SPDX-License-Identifier: MIT */
#include "shown.h"
#include "top_peers.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LIST_EVERY 4 /* looks: who is new */

static struct top_peer *add(struct top_peers *t, const struct live_process *of)
{
	if (t->n == t->room) {
		const unsigned room = t->room ? 2 * t->room : 8;
		void *more = realloc(t->peer, room * sizeof(*t->peer));

		if (!more)
			return NULL;
		t->peer = more;
		t->room = room;
	}
	t->peer[t->n] = (struct top_peer){ .of = *of, .ask = TOP_ASK_NONE };
	return &t->peer[t->n++];
}

static bool is_known(const struct top_peers *t, const char *socket)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!strcmp(t->peer[i].of.socket, socket))
			return true;
	return false;
}

static void list(struct top_peers *t)
{
	struct live_process *all = NULL;
	const size_t n = live_list(&all);

	for (size_t i = 0; i < n; i++)
		if (!is_known(t, all[i].socket))
			add(t, &all[i]);
	free(all);
}

/* Where the one that `fd` leads to listens: it is asked there again. */
static int add_peer_of(struct top_peers *t, int fd)
{
	struct sockaddr_un at = { 0 };
	struct ucred peer;
	socklen_t at_len = sizeof(at) - 1, peer_len = sizeof(peer);
	struct live_process of = { 0 };
	int err = getpeername(fd, (struct sockaddr *)&at, &at_len) ||
		  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len) ||
		  !*at.sun_path;

	close(fd);
	if (err)
		return -1;
	of.pid = peer.pid;
	of.uid = peer.uid;
	snprintf(of.socket, sizeof(of.socket), "%s", at.sun_path);
	return add(t, &of) ? 0 : -1;
}

int top_peers_begin(struct top_peers *t, const char *who)
{
	int fd;

	memset(t, 0, sizeof(*t));
	t->many = !who;
	if (!who)
		return 0;
	fd = live_dial(who);
	return fd < 0 ? -1 : add_peer_of(t, fd);
}

static void drop(struct top_peer *p)
{
	top_ask_end(&p->ask);
	top_process_free(p->now);
}

void top_peers_end(struct top_peers *t)
{
	for (unsigned i = 0; i < t->n; i++)
		drop(&t->peer[i]);
	free(t->peer);
	memset(t, 0, sizeof(*t));
}

/* The process has ended. */
static void remove_at(struct top_peers *t, unsigned i)
{
	const struct top_process *p = t->peer[i].now;

	if (p)
		snprintf(t->said, sizeof(t->said), "%d %.200s has ended",
			 p->pid, p->program);
	drop(&t->peer[i]);
	memmove(&t->peer[i], &t->peer[i + 1],
		(--t->n - i) * sizeof(*t->peer));
}

/* Since the last look. Its row, if it has one, is what it was. */
static void say_silent(struct top_peers *t, const struct top_peer *p)
{
	const char *name = p->now ? p->now->program : p->of.name;

	snprintf(t->said, sizeof(t->said),
		 "%d%s%.200s does not answer; is it stopped?", (int)p->of.pid,
		 *name ? " " : "", name);
}

bool top_peers_silent(struct top_peers *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i].ask.fd >= 0 || !t->peer[i].now) {
			say_silent(t, &t->peer[i]);
			return true;
		}
	return false;
}

void top_peers_ask(struct top_peers *t)
{
	if (t->many && t->looks++ % LIST_EVERY == 0)
		list(t);
	for (unsigned i = t->n; i-- > 0;) {
		struct top_peer *p = &t->peer[i];

		if (p->ask.fd >= 0)
			say_silent(t, p);
		else if (top_ask_begin(&p->ask, live_connect(&p->of, 0),
				       "stats"))
			continue;
		else if (errno == EAGAIN) /* nor does it accept any more */
			say_silent(t, p);
		else
			remove_at(t, i);
	}
}

unsigned top_peers_fds(const struct top_peers *t, struct pollfd *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i].ask.fd >= 0)
			p[n++] = (struct pollfd){ .fd = t->peer[i].ask.fd,
						  .events = POLLIN };
	return n;
}

/* What cannot be read is no answer: it stays as it was. */
static void heard(struct top_peer *p)
{
	json_t *doc = shown_json(
		json_loads(p->ask.text ? p->ask.text : "", 0, NULL));
	struct top_process *now = doc ? top_process_new(doc) : NULL;

	json_decref(doc);
	if (!now)
		return;
	top_rates(now, p->now);
	top_process_free(p->now);
	p->now = now;
}

bool top_peers_take(struct top_peers *t)
{
	bool news = false;

	for (unsigned i = t->n; i-- > 0;) {
		struct top_peer *p = &t->peer[i];

		if (p->ask.fd < 0 || !top_ask_take(&p->ask))
			continue;
		news = true;
		if (p->ask.len) {
			heard(p);
			top_ask_end(&p->ask);
		} else {
			remove_at(t, i);
		}
	}
	return news;
}

bool top_peers_waits(const struct top_peers *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i].ask.fd >= 0)
			return true;
	return false;
}

struct top_peer *top_peers_find(struct top_peers *t, pid_t pid)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->peer[i].now && t->peer[i].now->pid == pid)
			return &t->peer[i];
	return NULL;
}
