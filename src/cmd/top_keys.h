/* SPDX-License-Identifier: MIT */
/* top_keys.h - what keys do in `fastmap top`. */
#pragma once

#include "base/control.h"
#include "top_peers.h"
#include "top_screen.h"

/* A row, whatever becomes of the table. */
struct top_key {
	pid_t pid; /* 0: none */
	uint64_t device, inode;
};
struct top_key top_key_of(const struct top_row *r);
bool top_is_row(const struct top_row *r, const struct top_key *key);

/* What a process has been told to do; one at a time. */
struct top_action {
	struct call *call; /* it is under way, or NULL */
	struct top_view *view; /* for messages */
	void (*news)(void *arg); /* there is one */
	void *arg;
	char what[64];   /* for the message */
	char line[FM_CONTROL_LINE]; /* sent once a question is answered */
	pid_t pid;
	char question[192];
	enum { TOP_ASK_NOTHING, TOP_ASK_SURE, TOP_ASK_CACHE,
	       TOP_ASK_INTERVAL } asking;
};

/* False: end. */
bool top_keys_press(struct top_view *v, struct top_peers *peers,
		    struct top_action *a, int key);
