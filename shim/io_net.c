/* SPDX-License-Identifier: MIT */
/*
 * io_net.c - sockets. A datagram whose copy fails half-way is lost, so what is
 * received must find its pages in place. Addresses and control data are small
 * and are copied; payload goes through fm_transfer.
 */
#include "guard.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

FM_NEXT(recv)
FM_NEXT(send)
FM_NEXT(recvfrom)
FM_NEXT(sendto)
FM_NEXT(recvmsg)
FM_NEXT(sendmsg)
FM_NEXT(recvmmsg)
FM_NEXT(sendmmsg)
FM_NEXT(bind)
FM_NEXT(connect)
FM_NEXT(accept)
FM_NEXT(accept4)
FM_NEXT(getsockname)
FM_NEXT(getpeername)
FM_NEXT(getsockopt)
FM_NEXT(setsockopt)

extern void __chk_fail(void) __attribute__((noreturn));
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags,
		       __SOCKADDR_ARG addr, socklen_t *addrlen);

/* Only streams may be split. A peek starts from the front every time; a
 * receive goes on only when the program waits for everything. */
static void net_classify(struct fm_rw *rw, bool control)
{
	const bool stream = fm_is_stream(rw->fd);
	const bool wait_all = rw->flags & MSG_WAITALL;

	rw->loop = stream && !control && !(rw->flags & MSG_PEEK) &&
		   (!rw->in || wait_all);
	rw->atomic = !stream || control ||
		     (wait_all && (rw->flags & MSG_PEEK));
	rw->keeps = !rw->in && (rw->flags & MSG_ZEROCOPY);
}

/* ---- one buffer --------------------------------------------------------- */

static ssize_t call_recv(const struct fm_rw *rw, const struct iovec *iov,
			 int cnt, off_t off)
{
	return FM_PASS(recv, SYS_recvfrom, rw->fd, iov->iov_base, iov->iov_len,
		       rw->flags);
}

static ssize_t call_send(const struct fm_rw *rw, const struct iovec *iov,
			 int cnt, off_t off)
{
	return FM_PASS(send, SYS_sendto, rw->fd, iov->iov_base, iov->iov_len,
		       rw->flags);
}

struct peer {
	struct sockaddr *addr;
	socklen_t *lenp;
	socklen_t len;
};

static ssize_t call_recvfrom(const struct fm_rw *rw, const struct iovec *iov,
			     int cnt, off_t off)
{
	struct peer *peer = rw->arg;

	return FM_PASS(recvfrom, SYS_recvfrom, rw->fd, iov->iov_base,
		       iov->iov_len, rw->flags, peer->addr, peer->lenp);
}

static ssize_t call_sendto(const struct fm_rw *rw, const struct iovec *iov,
			   int cnt, off_t off)
{
	struct peer *peer = rw->arg;

	return FM_PASS(sendto, SYS_sendto, rw->fd, iov->iov_base, iov->iov_len,
		       rw->flags, peer->addr, peer->len);
}

static ssize_t one(int fd, const void *buf, size_t n, int flags, bool in,
		   struct peer *peer,
		   ssize_t (*call)(const struct fm_rw *, const struct iovec *,
				   int, off_t))
{
	struct iovec iov = { (void *)(uintptr_t)buf, n };
	struct fm_rw rw = {
		.fd = fd, .in = in, .flags = flags, .iov = &iov, .cnt = 1,
		.arg = peer, .call = call,
	};

	net_classify(&rw, false);
	return fm_transfer(&rw);
}

FM_HOOK ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	if (!fm_touches(buf, n))
		return fm_told(FM_PASS(recv, SYS_recvfrom, fd, buf, n, flags));
	return fm_told(one(fd, buf, n, flags, true, NULL, call_recv));
}

FM_HOOK ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	fm_tell();
	if (!fm_touches(buf, n))
		return FM_PASS(send, SYS_sendto, fd, buf, n, flags);
	return one(fd, buf, n, flags, false, NULL, call_send);
}

FM_SLOW ssize_t recvfrom_slow(int fd, void *buf, size_t n, int flags,
			      struct sockaddr *addr, socklen_t *lenp)
{
	struct fm_bounce ba, bl;
	struct peer p = { NULL, NULL, 0 };
	ssize_t r;

	p.lenp = fm_bounce(&bl, lenp, sizeof(*lenp),
			   FM_COPY_IN | FM_COPY_OUT);
	p.addr = fm_bounce(&ba, addr, p.lenp && addr ? *p.lenp : 0,
			   FM_COPY_OUT);
	r = one(fd, buf, n, flags, true, &p, call_recvfrom);
	fm_bounce_end(&ba, r >= 0 && p.lenp ? *p.lenp : 0);
	fm_bounce_end(&bl, r >= 0 ? sizeof(*lenp) : 0);
	return r;
}

FM_HOOK ssize_t recvfrom(int fd, void *buf, size_t n, int flags,
			 __SOCKADDR_ARG addr, socklen_t *lenp)
{
	struct sockaddr *to = addr.__sockaddr__;

	if (!fm_touches(buf, n) && !fm_touches(to, 1) && !fm_touches(lenp, 1))
		return fm_told(FM_PASS(recvfrom, SYS_recvfrom, fd, buf, n,
				       flags, to, lenp));
	return fm_told(recvfrom_slow(fd, buf, n, flags, to, lenp));
}

FM_SLOW ssize_t sendto_slow(int fd, const void *buf, size_t n, int flags,
			    const struct sockaddr *addr, socklen_t len)
{
	struct fm_bounce b;
	struct peer p = { NULL, NULL, len };
	ssize_t r;

	p.addr = fm_bounce(&b, addr, len, FM_COPY_IN);
	r = one(fd, buf, n, flags, false, &p, call_sendto);
	fm_bounce_end(&b, 0);
	return r;
}

FM_HOOK ssize_t sendto(int fd, const void *buf, size_t n, int flags,
		       __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	const struct sockaddr *to = addr.__sockaddr__;

	fm_tell();
	if (!fm_touches(buf, n) && !fm_touches(to, 1))
		return FM_PASS(sendto, SYS_sendto, fd, buf, n, flags, to, len);
	return sendto_slow(fd, buf, n, flags, to, len);
}

FM_HOOK ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	if (n > room)
		__chk_fail();
	return recv(fd, buf, n, flags);
}

FM_HOOK ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room,
			       int flags, __SOCKADDR_ARG addr, socklen_t *lenp)
{
	if (n > room)
		__chk_fail();
	return recvfrom(fd, buf, n, flags, addr, lenp);
}

FM_ALIAS(recv) ssize_t __recv(int fd, void *buf, size_t n, int flags);
FM_ALIAS(send) ssize_t __send(int fd, const void *buf, size_t n, int flags);

/* ---- messages ----------------------------------------------------------- */

/* A message header with everything but the payload in ordinary memory. */
struct message {
	struct msghdr hdr, *user;
	struct fm_bounce name, control, iov;
};

static bool msg_touches(const struct msghdr *m)
{
	if (fm_overlaps(m, sizeof(*m)))
		return true;
	return (m->msg_name && fm_overlaps(m->msg_name, 1)) ||
	       (m->msg_control && fm_overlaps(m->msg_control, 1)) ||
	       (m->msg_iovlen && fm_overlaps(m->msg_iov, 1)) ||
	       (m->msg_iovlen <= IOV_MAX &&
		fm_iov_touches(m->msg_iov, (int)m->msg_iovlen));
}

/* ---- descriptors on their way to another process ------------------------ */

static void give_all(const struct cmsghdr *c)
{
	const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		fm_file_given(fd);
	}
}

#define CONTROL_MAX 4096 /* of which 253 descriptors, the most that go, take 1 KiB */

/* Not by loads: what the kernel cannot read is its EFAULT, not our SIGSEGV. A header
 * that it would refuse ends it. */
static void give_files(const struct msghdr *m)
{
	size_t left = m->msg_controllen;
	_Alignas(struct cmsghdr) char copy[CONTROL_MAX];
	const char *p = copy;

	if (!fm_on() || !m->msg_control || left < sizeof(struct cmsghdr) ||
	    fm_sys_confined())
		return;
	left = left < sizeof(copy) ? left : sizeof(copy);
	if (!fm_peek(copy, m->msg_control, left)) {
		if (fm_peek(copy, &left, sizeof(left)))
			return;
		memcpy(copy, m->msg_control, left); /* a container forbids it */
	}
	while (left >= sizeof(struct cmsghdr)) {
		const struct cmsghdr *c = (const void *)p;
		const size_t step = CMSG_ALIGN(c->cmsg_len);

		if (c->cmsg_len < sizeof(*c) || c->cmsg_len > left)
			return;
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			give_all(c);
		if (step >= left)
			return;
		p += step;
		left -= step;
	}
}

static void msg_open(struct message *m, const struct msghdr *user, int how)
{
	m->user = (struct msghdr *)(uintptr_t)user;
	m->hdr = *user;
	m->hdr.msg_name = fm_bounce(&m->name, user->msg_name,
				    user->msg_namelen, how);
	m->hdr.msg_control = fm_bounce(&m->control, user->msg_control,
				       user->msg_controllen, how);
	m->hdr.msg_iov = fm_bounce(&m->iov, user->msg_iov,
				   user->msg_iovlen * sizeof(struct iovec),
				   FM_COPY_IN);
}

static void msg_close(struct message *m, bool received)
{
	fm_bounce_end(&m->iov, 0);
	fm_bounce_end(&m->name, received ? m->hdr.msg_namelen : 0);
	fm_bounce_end(&m->control, received ? m->hdr.msg_controllen : 0);
	if (!received)
		return;
	m->user->msg_namelen = m->hdr.msg_namelen;
	m->user->msg_controllen = m->hdr.msg_controllen;
	m->user->msg_flags = m->hdr.msg_flags;
}

static ssize_t call_recvmsg(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	struct msghdr *hdr = rw->arg;

	hdr->msg_iov = (struct iovec *)(uintptr_t)iov;
	hdr->msg_iovlen = (size_t)cnt;
	return FM_PASS(recvmsg, SYS_recvmsg, rw->fd, hdr, rw->flags);
}

static ssize_t call_sendmsg(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	struct msghdr *hdr = rw->arg;

	hdr->msg_iov = (struct iovec *)(uintptr_t)iov;
	hdr->msg_iovlen = (size_t)cnt;
	return FM_PASS_VIA(rw->raw, sendmsg, SYS_sendmsg, rw->fd, hdr, rw->flags);
}

FM_SLOW ssize_t msg_slow(bool raw, int fd, const struct msghdr *user, int flags, bool in)
{
	struct message m;
	struct fm_rw rw = {
		.fd = fd, .raw = raw, .in = in, .flags = flags, .arg = &m.hdr,
		.call = in ? call_recvmsg : call_sendmsg,
	};
	ssize_t r;

	msg_open(&m, user, in ? FM_COPY_OUT : FM_COPY_IN);
	rw.iov = m.hdr.msg_iov;
	rw.cnt = (int)m.hdr.msg_iovlen;
	net_classify(&rw, m.hdr.msg_controllen != 0);
	if (!in)
		give_files(&m.hdr);
	r = fm_transfer(&rw);
	msg_close(&m, in && r >= 0);
	return r;
}

static bool msg_plain(const struct msghdr *m)
{
	return !fm_active() || (uintptr_t)m < 4096 || !msg_touches(m) ||
	       m->msg_iovlen > IOV_MAX;
}

static ssize_t do_recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (msg_plain(msg))
		return fm_told(FM_PASS(recvmsg, SYS_recvmsg, fd, msg, flags));
	return fm_told(msg_slow(false, fd, msg, flags, true));
}

FM_HOOK ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return do_recvmsg(fd, msg, flags);
}

ssize_t fm_do_sendmsg(bool raw, int fd, const struct msghdr *msg, int flags)
{
	const bool early = fm_active();
	ssize_t r;

	fm_tell();
	if (!msg_plain(msg))
		return msg_slow(raw, fd, msg, flags, false);
	if (early && (uintptr_t)msg >= 4096)
		give_files(msg);
	r = FM_PASS_VIA(raw, sendmsg, SYS_sendmsg, fd, msg, flags);
	/* Nothing is mapped: then the kernel is the first to look at the header, whose
	 * EFAULT a bad address is. */
	if (!early && r >= 0)
		give_files(msg);
	return r;
}

FM_HOOK ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return fm_do_sendmsg(false, fd, msg, flags);
}

/* ---- several messages --------------------------------------------------- */

static bool mmsg_plain(const struct mmsghdr *v, unsigned n)
{
	if (!fm_active() || (uintptr_t)v < 4096)
		return true;
	if (n > IOV_MAX)
		n = IOV_MAX; /* as the kernel does */
	if (fm_overlaps(v, n * sizeof(*v)))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (msg_touches(&v[i].msg_hdr))
			return false;
	return true;
}

/* One by one, which is what the kernel does too. */
FM_SLOW int sendmmsg_slow(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags)
{
	const int saved = errno;
	unsigned i;

	for (i = 0; i < n && i < IOV_MAX; i++) {
		ssize_t r = fm_do_sendmsg(raw, fd, &v[i].msg_hdr, flags);

		if (r < 0)
			break;
		v[i].msg_len = (unsigned)r;
	}
	if (i == 0 && n)
		return -1;
	errno = saved;
	return (int)i;
}

static void give_each(const struct mmsghdr *v, unsigned n)
{
	for (unsigned i = 0; i < n && i < IOV_MAX; i++)
		give_files(&v[i].msg_hdr);
}

int fm_do_sendmmsg(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags)
{
	const bool early = fm_active();
	int r;

	fm_tell();
	if (!mmsg_plain(v, n))
		return sendmmsg_slow(raw, fd, v, n, flags);
	if (early && (uintptr_t)v >= 4096)
		give_each(v, n);
	r = FM_PASS_VIA(raw, sendmmsg, SYS_sendmmsg, fd, v, n, flags);
	if (!early && r > 0)
		give_each(v, (unsigned)r);
	return r;
}

FM_HOOK int sendmmsg(int fd, struct mmsghdr *v, unsigned n, int flags)
{
	return fm_do_sendmmsg(false, fd, v, n, flags);
}

/* The kernel looks at the timeout only after each datagram (recvmmsg(2),
 * BUGS), and leaves in it what remains. */
static bool time_is_up(uint64_t end_ns, struct timespec *left)
{
	uint64_t now = fm_now_ns(), rest = end_ns > now ? end_ns - now : 0;

	left->tv_sec = (time_t)(rest / 1000000000u);
	left->tv_nsec = (long)(rest % 1000000000u);
	return rest == 0;
}

FM_SLOW int recvmmsg_slow(int fd, struct mmsghdr *v, unsigned n, int flags,
			  struct timespec *timeout)
{
	const int saved = errno;
	uint64_t end = 0;
	unsigned i = 0;

	if (timeout)
		end = fm_now_ns() + (uint64_t)timeout->tv_sec * 1000000000u +
		      (uint64_t)timeout->tv_nsec;
	while (i < n && i < IOV_MAX) {
		ssize_t r = do_recvmsg(fd, &v[i].msg_hdr,
				    flags & ~MSG_WAITFORONE);

		if (r < 0)
			break;
		v[i++].msg_len = (unsigned)r;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (timeout && time_is_up(end, timeout))
			break;
	}
	if (i == 0 && n)
		return -1;
	errno = saved;
	return (int)i;
}

FM_HOOK int recvmmsg(int fd, struct mmsghdr *v, unsigned n, int flags,
		     struct timespec *timeout)
{
	if (mmsg_plain(v, n) && !fm_touches(timeout, sizeof(*timeout)))
		return (int)fm_told(FM_PASS(recvmmsg, SYS_recvmmsg, fd, v, n,
					    flags, timeout));
	return (int)fm_told(recvmmsg_slow(fd, v, n, flags, timeout));
}

FM_ALIAS(sendmmsg)
int __sendmmsg(int fd, struct mmsghdr *v, unsigned n, int flags);

/* ---- addresses and options ---------------------------------------------- */

#define ADDR_IN(fn, nr)                                                    \
	FM_HOOK int fn(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)   \
	{                                                                  \
		const struct sockaddr *a = addr.__sockaddr__;              \
		struct fm_bounce b;                                        \
		int r;                                                     \
                                                                           \
		if (!fm_touches(a, 1))                                     \
			return FM_PASS(fn, nr, fd, a, len);                \
		a = fm_bounce(&b, a, len, FM_COPY_IN);                     \
		r = FM_PASS(fn, nr, fd, a, len);                           \
		fm_bounce_end(&b, 0);                                      \
		return r;                                                  \
	}

ADDR_IN(bind, SYS_bind)
ADDR_IN(connect, SYS_connect)
int __connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len);
FM_ALIAS(connect) int __connect(int fd, __CONST_SOCKADDR_ARG addr,
				socklen_t len);

/* An address (or option) that comes back, with its length going both ways. */
struct reply {
	struct fm_bounce ba, bl;
	void *addr;
	socklen_t *len;
};

static void reply_open(struct reply *p, void *addr, socklen_t *len)
{
	p->len = fm_bounce(&p->bl, len, sizeof(*len),
			   FM_COPY_IN | FM_COPY_OUT);
	p->addr = fm_bounce(&p->ba, addr, p->len ? *p->len : 0,
			    FM_COPY_IN | FM_COPY_OUT);
}

static int reply_close(struct reply *p, int r)
{
	fm_bounce_end(&p->ba, r >= 0 && p->len ? *p->len : 0);
	fm_bounce_end(&p->bl, r >= 0 ? sizeof(*p->len) : 0);
	return r;
}

#define ADDR_OUT(fn, nr, extra_decl, ...)                                  \
	FM_HOOK int fn(int fd, __SOCKADDR_ARG addr, socklen_t *len         \
			       extra_decl)                                 \
	{                                                                  \
		struct sockaddr *a = addr.__sockaddr__;                    \
		struct reply p;                                            \
                                                                           \
		if (!fm_touches(a, 1) && !fm_touches(len, 1))              \
			return (int)fm_told(                               \
				FM_PASS(fn, nr, fd, a, len __VA_ARGS__));  \
		reply_open(&p, a, len);                                    \
		a = p.addr;                                                \
		return (int)fm_told(reply_close(                           \
			&p, FM_PASS(fn, nr, fd, a, p.len __VA_ARGS__)));   \
	}
#define COMMA ,

ADDR_OUT(accept, SYS_accept, )
ADDR_OUT(accept4, SYS_accept4, COMMA int flags, COMMA flags)
ADDR_OUT(getsockname, SYS_getsockname, )
ADDR_OUT(getpeername, SYS_getpeername, )

FM_HOOK int getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	struct reply p;

	if (!fm_touches(val, 1) && !fm_touches(len, 1))
		return FM_PASS(getsockopt, SYS_getsockopt, fd, level, name,
			       val, len);
	reply_open(&p, val, len);
	return reply_close(&p, FM_PASS(getsockopt, SYS_getsockopt, fd, level,
				       name, p.addr, p.len));
}

FM_HOOK int setsockopt(int fd, int level, int name, const void *val,
		       socklen_t len)
{
	struct fm_bounce b;
	int r;

	if (!fm_touches(val, len))
		return FM_PASS(setsockopt, SYS_setsockopt, fd, level, name,
			       val, len);
	val = fm_bounce(&b, val, len, FM_COPY_IN);
	r = FM_PASS(setsockopt, SYS_setsockopt, fd, level, name, val, len);
	fm_bounce_end(&b, 0);
	return r;
}
