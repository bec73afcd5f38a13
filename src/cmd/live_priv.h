/* SPDX-License-Identifier: MIT */
/* live_priv.h - between live.c and live_list.c. */
#pragma once

#include "live.h"

/* The process has a socket of its own by FASTMAP_SOCKET in its environment,
 * which names it by %p. */
bool live_named_socket(pid_t pid, struct live_process *ret);
/* Does the process run a file of that name? */
bool live_is_file(pid_t pid, const char *name);
/* In one line: why has this process no control socket? */
void live_say_unheard(pid_t pid);
