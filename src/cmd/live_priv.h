/* SPDX-License-Identifier: MIT */
/* live_priv.h - between live.c and live_list.c. */
#pragma once

#include "live.h"

/* The process has a socket of its own by FASTMAP_SOCKET in its environment,
 * which names it by %p. */
bool live_named_socket(pid_t pid, struct live_process *ret);
/* Bytes of /proc/PID/what, with a NUL behind them; -1: errno. */
ssize_t live_read_proc(pid_t pid, const char *what, char *buf, size_t size);
/* Does the process run a file of that name? */
bool live_is_file(pid_t pid, const char *name);
/* In one line: why has this process no control socket? */
void live_say_unheard(pid_t pid);
