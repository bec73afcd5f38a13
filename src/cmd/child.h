/* SPDX-License-Identifier: MIT */
/*
 * child.h - a child of fork(2) on the loop: signals that the loop has handlers
 * for are its own, and its end is waited for while the loop runs.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct child {
	pid_t pid;
	bool ended;
	uv_poll_t end;
	int fd; /* tells of that */
	/* When it has; or NULL. */
	void (*on_end)(void *arg);
	void *arg;
};

/* run(arg) in the child; it does not return. Until it calls child_is_ready, all
 * signals wait. 0, or -errno. */
int child_start(struct child *c, void (*run)(void *arg), void *arg);
/* In the child, before it executes a program: signals are as they were. */
void child_is_ready(void);
/* The loop runs until it has ended; wait4(2) is still to be called. */
void child_wait(struct child *c);
