/* SPDX-License-Identifier: MIT */
/* heard.h - who has been told already what is wrong with the settings. */
#pragma once

#include <stdbool.h>

/* `fastmap run` sets it to its process id, which the program inherits. */
#define FM_RUN_VARIABLE "FASTMAP_RUN"

/* Some system calls: only when there is something to say. `envp` is not
 * NULL. */
bool fm_heard_from_run(char **envp);
bool fm_heard_from_parent(char **envp);
/* The process that `fastmap run` has become, or 0. No system call. */
int fm_heard_run(char **envp);
/* The parent has the library, and this variable with the same value: it has
 * said what is wrong with that. Other variables may differ. */
bool fm_heard_by_parent(const char *variable);

/* Who has started this program, from what it was started with. */
enum fm_start {
	FM_START_RUN,    /* `fastmap run` has become it */
	FM_START_BY_RUN, /* what `fastmap run` has become */
	FM_START_BY_OTHER, /* another program with the same LD_PRELOAD */
	FM_START_ALONE,
};
/* [plain] */
enum fm_start fm_heard_start(void);
