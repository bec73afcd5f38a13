/* SPDX-License-Identifier: MIT */
/* top_peers.h - the processes that `fastmap top` looks at. */
#pragma once

#include "call.h"
#include "live.h"
#include "top_model.h"

struct top_peers;

struct top_peer {
	struct top_peers *all;
	struct live_process of;
	struct call *call;       /* what it still has to answer, or NULL */
	struct top_process *now; /* as last heard, with rates, or NULL */
};

struct top_peers {
	bool many;  /* all that there are; else the first one only */
	unsigned n, room;
	struct top_peer **peer;
	unsigned looks, asked; /* asked: have not answered yet */
	char said[256]; /* what has become of one, or "" */
	/* Something is new; or NULL. */
	void (*news)(void *arg);
	void *arg;
};

/* `who`: NULL: all. 0, or -1 when the reason has been said. */
int top_peers_begin(struct top_peers *t, const char *who);
void top_peers_end(struct top_peers *t);

/* Ask each for its statistics, unless it still has to answer. */
void top_peers_ask(struct top_peers *t);
/* Has one not answered yet? `said` names it then. */
bool top_peers_silent(struct top_peers *t);
struct top_peer *top_peers_find(struct top_peers *t, pid_t pid);
