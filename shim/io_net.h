/* SPDX-License-Identifier: MIT */
/* io_net.h - addresses that come back (io_sock.c). */
#pragma once

#include "guard.h"

#include <sys/socket.h>

/* An address (or option) that comes back, with its length going both ways. The
 * length is read once; a bad pointer goes to the kernel as it is. */
struct fm_reply {
	struct fm_object b;
	socklen_t *user, size, room;
	void *addr;
	socklen_t *len;
};

void fm_reply_open(struct fm_reply *p, void *addr, socklen_t *len, int how);
ssize_t fm_reply_close(struct fm_reply *p, ssize_t r);
