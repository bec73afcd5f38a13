/* SPDX-License-Identifier: MIT */
/* heard.h - who has been told already what is wrong with the settings. */
#pragma once

#include <stdbool.h>

/* `fastmap run` sets it to its process id, which the program inherits. */
#define FM_RUN_VARIABLE "FASTMAP_RUN"

/* The process that `fastmap run` has become, or 0. No system call. */
int fm_heard_run(char **envp);
/* The parent has the library, and this variable with the same value: it has
 * said what is wrong with that. Other variables may differ. Some system calls:
 * only when there is something to say. */
bool fm_heard_by_parent(const char *variable);
