/* SPDX-License-Identifier: MIT */
/*
 * group.h - a memory control group (version 1 or 2) for one run of a program:
 * found, made, and removed by the command itself.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct group {
	char dir[PATH_MAX]; /* "": none */
	bool v2;
	char enabled[PATH_MAX]; /* where we have turned the controller on */
};

/* Where groups can be made and entered; an empty group, removed again. 0, or
 * -1 and one line of why not. */
int group_find(struct group *ret, const char **ret_why);
void group_forget(struct group *g);

/* With this limit. 0 or -errno. */
int group_make(const struct group *g, uint64_t limit);
/* In the child that is to be in it. */
int group_enter(const struct group *g);
uint64_t group_peak(const struct group *g); /* bytes, the page cache included */
bool group_killed(const struct group *g); /* somebody, for want of memory */

/* One that writes back, after a death. */
bool group_is_guardian(int pid);

/* Waits `ms` until all have left it, and longer for a guardian, which writes
 * what is not in the file yet; kills who has not; removes it. */
void group_end(const struct group *g, int ms);
