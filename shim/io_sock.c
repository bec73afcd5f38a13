/* SPDX-License-Identifier: MIT */
/* io_sock.c - see io_net.h. */
#include "io_net.h"

void fm_reply_open(struct fm_reply *p, void *addr, socklen_t *len, int how)
{
	p->user = len;
	p->len = len;
	p->size = 0;
	if (len && fm_user_read(&p->size, len, sizeof(*len)))
		p->len = &p->size;
	p->room = p->size;
	p->addr = fm_object(&p->b, addr, p->room, how);
}

ssize_t fm_reply_close(struct fm_reply *p, ssize_t r)
{
	const int saved = errno;

	fm_object_end(&p->b, r >= 0 ? fm_least(p->size, p->room) : 0);
	/* Some fail and say how much it would have been. */
	if (p->len == &p->size && (p->size != p->room || (r >= 0 && p->addr)) &&
	    !fm_user_write(p->user, &p->size, sizeof(p->size)))
		return fm_result(-EFAULT);
	errno = saved;
	return r;
}
