/* SPDX-License-Identifier: MIT */
/* live_priv.h - between live.c and live_list.c. */
#ifndef FM_CMD_LIVE_PRIV_H
#define FM_CMD_LIVE_PRIV_H

#include "live.h"

/* The process has a socket of its own by FASTMAP_SOCKET in its environment,
 * which names it by %p. */
bool live_named_socket(pid_t pid, struct live_process *ret);

#endif
