/* SPDX-License-Identifier: MIT */
/* control_priv.h - between the control thread's parts. */
#pragma once

#include <poll.h>
#include <stdatomic.h>

#include "base/control.h"

#define FM_CONTROL_CLIENTS 8 /* at a time */

enum fm_client_state {
	FM_CLIENT_ASKS,  /* its line has not come to the end */
	FM_CLIENT_WAITS, /* for the job thread */
	FM_CLIENT_JOB,   /* whose the client is now */
	FM_CLIENT_HEARS, /* the answer goes out */
};

struct fm_client {
	int fd; /* -1: nobody */
	_Atomic enum fm_client_state state;
	const struct fm_control *command;
	char line[FM_CONTROL_LINE];
	size_t len;
	struct fm_request request; /* its answer is what goes out */
	size_t sent;
	uint64_t since_ms; /* it has done something */
	uint64_t turn;     /* who has the lowest is the next job */
};

extern struct fm_client fm_clients[FM_CONTROL_CLIENTS];

/* [plain] Listen where the settings say, if they do. 0 or -errno. */
int fm_control_listen(void);
/* [any] Is there anywhere to listen? */
bool fm_control_wanted(void);
/* [plain] What to wait for, 1 + FM_CONTROL_CLIENTS of them, and what came of
 * it. */
int fm_control_fds(struct pollfd *p);
void fm_control_serve(const struct pollfd *p);
/* [plain] In the child of fork. */
void fm_control_drop_fds(void);

/* [plain] The policy file, in the control thread: it was read just now; it is
 * read again, if it has changed. */
void fm_control_policy_seen(void);
void fm_control_policy_look(void);

/* [plain] Send what there is room for; true: all of it, or nobody hears it. */
bool fm_control_send(struct fm_client *c);
/* [plain] The client waits for the job thread, which is made if there is none.
 * 0, -EBUSY where enough wait, or -errno. */
int fm_job_add(struct fm_client *c);
/* [plain] Is it with the job thread, or waits for it? */
bool fm_job_has(const struct fm_client *c);
/* [plain] In the child of fork. */
void fm_job_reset(void);
