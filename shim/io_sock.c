/* SPDX-License-Identifier: MIT */
/* io_sock.c - addresses and options of sockets. */
#include "io_net.h"

FM_NEXT(bind)
FM_NEXT(connect)
FM_NEXT(accept)
FM_NEXT(accept4)
FM_NEXT(getsockname)
FM_NEXT(getpeername)
FM_NEXT(getsockopt)
FM_NEXT(setsockopt)

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

#define ADDR_IN(fn, nr)                                                    \
	FM_HOOK int fn(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)   \
	{                                                                  \
		const struct sockaddr *a = addr.__sockaddr__;              \
		struct fm_object b;                                        \
		int r;                                                     \
                                                                           \
		if (!fm_touches(a, 1))                                     \
			return FM_PASS(fn, nr, fd, a, len);                \
		a = fm_object(&b, a, len, FM_COPY_IN);                     \
		r = FM_PASS(fn, nr, fd, a, len);                           \
		fm_object_end(&b, 0);                                      \
		return r;                                                  \
	}

ADDR_IN(bind, SYS_bind)
ADDR_IN(connect, SYS_connect)
int __connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len);
FM_ALIAS(connect) int __connect(int fd, __CONST_SOCKADDR_ARG addr,
				socklen_t len);

#define ADDR_OUT(fn, nr, extra_decl, ...)                                      \
	FM_HOOK int fn(int fd, __SOCKADDR_ARG addr, socklen_t *len extra_decl) \
	{                                                                      \
		struct sockaddr *a = addr.__sockaddr__;                        \
		struct fm_reply p;                                             \
                                                                               \
		if (!fm_touches(a, 1) && !fm_touches(len, 1))                  \
			return (int)fm_ipc_after(                              \
				FM_PASS(fn, nr, fd, a, len __VA_ARGS__));      \
		fm_reply_open(&p, a, len, FM_COPY_IN | FM_COPY_OUT);           \
		a = p.addr;                                                    \
		return (int)fm_ipc_after(fm_reply_close(                       \
			&p, FM_PASS(fn, nr, fd, a, p.len __VA_ARGS__)));       \
	}
#define COMMA ,

ADDR_OUT(accept, SYS_accept, )
ADDR_OUT(accept4, SYS_accept4, COMMA int flags, COMMA flags)
ADDR_OUT(getsockname, SYS_getsockname, )
ADDR_OUT(getpeername, SYS_getpeername, )

FM_HOOK int getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	struct fm_reply p;

	if (!fm_touches(val, 1) && !fm_touches(len, 1))
		return FM_PASS(getsockopt, SYS_getsockopt, fd, level, name,
			       val, len);
	fm_reply_open(&p, val, len, FM_COPY_IN | FM_COPY_OUT);
	return (int)fm_reply_close(&p, FM_PASS(getsockopt, SYS_getsockopt, fd,
					       level, name, p.addr, p.len));
}

FM_HOOK int setsockopt(int fd, int level, int name, const void *val,
		       socklen_t len)
{
	struct fm_object b;
	int r;

	if (!fm_touches(val, len))
		return FM_PASS(setsockopt, SYS_setsockopt, fd, level, name,
			       val, len);
	val = fm_object(&b, val, len, FM_COPY_IN);
	r = FM_PASS(setsockopt, SYS_setsockopt, fd, level, name, val, len);
	fm_object_end(&b, 0);
	return r;
}
