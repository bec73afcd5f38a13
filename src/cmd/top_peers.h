/* SPDX-License-Identifier: MIT */
/* top_peers.h - the processes that `fastmap top` looks at. */
#ifndef FM_CMD_TOP_PEERS_H
#define FM_CMD_TOP_PEERS_H

#include <poll.h>

#include "live.h"
#include "top_ask.h"
#include "top_model.h"

struct top_peer {
	struct live_process of;
	struct top_ask ask;
	struct top_process *now; /* as last heard, with rates, or NULL */
};

struct top_peers {
	bool many;  /* all that there are; else the first one only */
	unsigned n, room;
	struct top_peer *peer;
	unsigned looks;
	char said[256]; /* what has become of one, or "" */
};

/* `who`: NULL: all. 0, or -1 when the reason has been said. */
int top_peers_begin(struct top_peers *t, const char *who);
void top_peers_end(struct top_peers *t);

/* Ask each for its statistics, unless it still has to answer. */
void top_peers_ask(struct top_peers *t);
/* What to wait for; `p` has room for t->n. What has come is taken by
 * top_peers_take: true: something is new. */
unsigned top_peers_fds(const struct top_peers *t, struct pollfd *p);
bool top_peers_take(struct top_peers *t);
bool top_peers_waits(const struct top_peers *t);
/* Has one not answered yet? `said` names it then. */
bool top_peers_silent(struct top_peers *t);
struct top_peer *top_peers_find(struct top_peers *t, pid_t pid);

#endif
