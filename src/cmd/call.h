/* SPDX-License-Identifier: MIT */
/*
 * call.h - a question to a control socket (src/base/control.h), on the loop:
 * while one process is silent, others answer.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "live.h"

struct call;

/* Who answers at all does it in milliseconds, be the machine busy. */
#define CALL_ANSWER_MS 10000

struct call_plan {
	/* pid 0: whoever listens there; else who listens must be that one */
	const struct live_process *of;
	const char *line; /* without its end */
	/* For all of the answer, or with `job` for each step that it goes on
	 * by. A process that is seen to be stopped is waited for no longer. 0:
	 * as long as it takes, but not for a place in its queue. */
	int ms;
	bool job;
	/* "progress DONE TOTAL", or NULL */
	void (*progress)(unsigned long done, unsigned long total, void *arg);
	/* Once, never within call_begin: `text` is to be freed, or NULL and
	 * err an errno; EAGAIN: it was silent. The call is no more. */
	void (*done)(char *text, int err, void *arg);
	void *arg;
};

/* NULL and errno: nothing was begun. */
struct call *call_begin(const struct call_plan *plan);
/* `done` is not called any more. */
void call_cancel(struct call *c);

/* The same, and the loop runs until it is answered. `arg` and `done` are not
 * used. NULL and errno. */
char *call_wait(const struct call_plan *plan);

/* One try to connect, which does not wait. -1 and errno; EAGAIN: too many
 * wait there. */
int call_connect(const struct live_process *of);
/* Stopped by a signal, or a debugger? pid 0: it has no number here. */
bool call_is_stopped(pid_t pid);
