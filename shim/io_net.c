/* SPDX-License-Identifier: MIT */
/*
 * io_net.c - sockets. A datagram whose copy fails half-way is lost, so what is
 * received must find its pages in place. Addresses and control data are small
 * and are copied; payload goes through fm_transfer.
 */
#include "guard.h"

#include <string.h>
#include <sys/socket.h>

FM_NEXT(recv)
FM_NEXT(send)
FM_NEXT(recvfrom)
FM_NEXT(sendto)
FM_NEXT(recvmsg)
FM_NEXT(sendmsg)
FM_NEXT(recvmmsg)
FM_NEXT(sendmmsg)

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

/* ---- addresses that come back ------------------------------------------- */

/* An address that comes back, with its length going both ways. The length is
 * read once; a bad pointer goes to the kernel as it is. */
struct reply {
	struct fm_object b;
	socklen_t *user, size, room;
	void *addr;
	socklen_t *len;
};

static void reply_open(struct reply *p, void *addr, socklen_t *len)
{
	p->user = len;
	p->len = len;
	p->size = 0;
	if (len && fm_user_read(&p->size, len, sizeof(*len)))
		p->len = &p->size;
	p->room = p->size;
	p->addr = fm_object(&p->b, addr, p->room, FM_COPY_OUT);
}

static ssize_t reply_close(struct reply *p, ssize_t r)
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
	if (!fm_may_touch(buf, n))
		return fm_ipc_after(
			FM_PASS(recv, SYS_recvfrom, fd, buf, n, flags));
	return fm_ipc_after(one(fd, buf, n, flags, true, NULL, call_recv));
}

FM_HOOK ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	fm_ipc_before();
	if (!fm_may_touch(buf, n))
		return FM_PASS(send, SYS_sendto, fd, buf, n, flags);
	return one(fd, buf, n, flags, false, NULL, call_send);
}

FM_SLOW ssize_t recvfrom_slow(int fd, void *buf, size_t n, int flags,
			      struct sockaddr *addr, socklen_t *lenp)
{
	struct reply to;
	struct peer p;

	reply_open(&to, addr, lenp);
	p = (struct peer){ to.addr, to.len, 0 };
	return reply_close(&to,
			      one(fd, buf, n, flags, true, &p, call_recvfrom));
}

FM_HOOK ssize_t recvfrom(int fd, void *buf, size_t n, int flags,
			 __SOCKADDR_ARG addr, socklen_t *lenp)
{
	struct sockaddr *to = addr.__sockaddr__;

	if (!fm_may_touch(buf, n) && !fm_touches(to, 1) && !fm_touches(lenp, 1))
		return fm_ipc_after(FM_PASS(recvfrom, SYS_recvfrom, fd, buf, n,
				       flags, to, lenp));
	return fm_ipc_after(recvfrom_slow(fd, buf, n, flags, to, lenp));
}

FM_SLOW ssize_t sendto_slow(int fd, const void *buf, size_t n, int flags,
			    const struct sockaddr *addr, socklen_t len)
{
	struct fm_object b;
	struct peer p = { NULL, NULL, len };
	ssize_t r;

	p.addr = fm_object(&b, addr, len, FM_COPY_IN);
	r = one(fd, buf, n, flags, false, &p, call_sendto);
	fm_object_end(&b, 0);
	return r;
}

FM_HOOK ssize_t sendto(int fd, const void *buf, size_t n, int flags,
		       __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	const struct sockaddr *to = addr.__sockaddr__;

	fm_ipc_before();
	if (!fm_may_touch(buf, n) && !fm_touches(to, 1))
		return FM_PASS(sendto, SYS_sendto, fd, buf, n, flags, to, len);
	return sendto_slow(fd, buf, n, flags, to, len);
}

FM_ALIAS(recv) ssize_t __recv(int fd, void *buf, size_t n, int flags);
FM_ALIAS(send) ssize_t __send(int fd, const void *buf, size_t n, int flags);

/* ---- messages ----------------------------------------------------------- */

/* A message header with everything but the payload in ordinary memory. */
/* A header, read once, and what it points to. */
struct message {
	struct msghdr hdr;
	struct fm_vec vec;
	size_t n; /* of vec; 0: none */
	struct fm_object name, control;
};

/* False: EFAULT, or what the kernel refuses. The array may be longer than it
 * takes. */
static bool msg_read(struct message *m, const struct msghdr *user)
{
	m->n = 0;
	m->vec.many = NULL;
	if (!fm_user_read(&m->hdr, user, sizeof(m->hdr)) ||
	    m->hdr.msg_iovlen > IOV_MAX)
		return false;
	if (!m->hdr.msg_iovlen)
		return true;
	if (fm_vec_read(&m->vec, m->hdr.msg_iov, m->hdr.msg_iovlen))
		return false;
	m->n = m->hdr.msg_iovlen;
	m->hdr.msg_iov = (struct iovec *)(uintptr_t)m->vec.iov;
	return true;
}

static void msg_free(struct message *m)
{
	fm_vec_free(&m->vec, m->n);
}

static bool touches_one(const void *p)
{
	return p && fm_data_in(p, 1);
}

static bool msg_touches(const struct message *m, const struct msghdr *user)
{
	return fm_data_in(user, sizeof(*user)) ||
	       touches_one(m->hdr.msg_name) ||
	       touches_one(m->hdr.msg_control) ||
	       fm_iov_touches(m->hdr.msg_iov, (int)m->n);
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

/* of which 253 descriptors, the most that go, take 1 KiB */
#define CONTROL_MAX 4096

/* Not by loads: what the kernel cannot read is its EFAULT, not our SIGSEGV. A
 * header that it would refuse ends it. */
static void give_files(const struct msghdr *m)
{
	size_t left = m->msg_controllen;
	_Alignas(struct cmsghdr) char copy[CONTROL_MAX];
	const char *p = copy;

	if (!fm_on() || !m->msg_control || left < sizeof(struct cmsghdr) ||
	    fm_sys_confined())
		return;
	left = left < sizeof(copy) ? left : sizeof(copy);
	/* The kernel has read it already where nothing is mapped. */
	if (!(fm_looks() ? fm_user_read : fm_user_reread)(copy, m->msg_control,
							   left))
		return;
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

static void msg_open(struct message *m, int how)
{
	m->hdr.msg_name = fm_object(&m->name, m->hdr.msg_name,
				    m->hdr.msg_namelen, how);
	m->hdr.msg_control = fm_object(&m->control, m->hdr.msg_control,
				       m->hdr.msg_controllen, how);
}

#define GIVE_BACK(user, hdr, field) \
	fm_user_write(&(user)->field, &(hdr)->field, sizeof((hdr)->field))

static bool msg_close(struct message *m, struct msghdr *user, bool received)
{
	fm_object_end(&m->name, received ? m->hdr.msg_namelen : 0);
	fm_object_end(&m->control, received ? m->hdr.msg_controllen : 0);
	return !received || ((!m->hdr.msg_name ||
			      GIVE_BACK(user, &m->hdr, msg_namelen)) &&
			     GIVE_BACK(user, &m->hdr, msg_controllen) &&
			     GIVE_BACK(user, &m->hdr, msg_flags));
}

static ssize_t call_recvmsg(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	struct msghdr *hdr = rw->arg;

	hdr->msg_iov = (struct iovec *)(uintptr_t)iov;
	hdr->msg_iovlen = (size_t)cnt;
	return FM_PASS_VIA(rw->raw, recvmsg, SYS_recvmsg, rw->fd, hdr,
			   rw->flags);
}

static ssize_t call_sendmsg(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	struct msghdr *hdr = rw->arg;

	hdr->msg_iov = (struct iovec *)(uintptr_t)iov;
	hdr->msg_iovlen = (size_t)cnt;
	return FM_PASS_VIA(rw->raw, sendmsg, SYS_sendmsg, rw->fd, hdr,
			   rw->flags);
}

static ssize_t msg_slow(bool raw, int fd, struct message *m,
			struct msghdr *user, int flags, bool in)
{
	struct fm_rw rw = {
		.fd = fd, .raw = raw, .in = in, .flags = flags, .arg = &m->hdr,
		.call = in ? call_recvmsg : call_sendmsg,
		.iov = m->hdr.msg_iov, .cnt = (int)m->n,
	};
	const size_t control = m->hdr.msg_controllen;
	ssize_t r;
	int saved;

	msg_open(m, in ? FM_COPY_OUT : FM_COPY_IN);
	net_classify(&rw, control != 0);
	if (!in)
		give_files(&m->hdr);
	r = fm_transfer(&rw);
	saved = errno;
	if (!msg_close(m, user, in && r >= 0))
		return fm_result(-EFAULT);
	errno = saved;
	return r;
}

FM_SLOW ssize_t recv_looked(bool raw, int fd, struct msghdr *msg, int flags)
{
	struct message m;
	ssize_t r;

	if (msg_read(&m, msg) && msg_touches(&m, msg))
		r = msg_slow(raw, fd, &m, msg, flags, true);
	else
		r = FM_PASS_VIA(raw, recvmsg, SYS_recvmsg, fd, msg, flags);
	msg_free(&m);
	return r;
}

ssize_t fm_do_recvmsg(bool raw, int fd, struct msghdr *msg, int flags)
{
	if (!fm_looks())
		return fm_ipc_after(FM_PASS_VIA(raw, recvmsg, SYS_recvmsg, fd,
						msg, flags));
	return fm_ipc_after(recv_looked(raw, fd, msg, flags));
}

/* What is looked at is what is sent. */
FM_SLOW ssize_t send_looked(bool raw, int fd, const struct msghdr *msg,
			    int flags)
{
	struct message m;
	ssize_t r;

	if (!msg_read(&m, msg)) {
		r = FM_PASS_VIA(raw, sendmsg, SYS_sendmsg, fd, msg, flags);
	} else if (msg_touches(&m, msg)) {
		r = msg_slow(raw, fd, &m, NULL, flags, false);
	} else {
		give_files(&m.hdr);
		r = FM_PASS_VIA(raw, sendmsg, SYS_sendmsg, fd, &m.hdr, flags);
	}
	msg_free(&m);
	return r;
}

/* After the kernel has read it. */
static void give_sent(const struct msghdr *user)
{
	struct msghdr hdr;

	if (fm_on() && fm_user_reread(&hdr, user, sizeof(hdr)))
		give_files(&hdr);
}

ssize_t fm_do_sendmsg(bool raw, int fd, const struct msghdr *msg, int flags)
{
	ssize_t r;

	if (fm_looks()) {
		fm_peers_release();
		return send_looked(raw, fd, msg, flags);
	}
	r = FM_PASS_VIA(raw, sendmsg, SYS_sendmsg, fd, msg, flags);
	if (r >= 0)
		give_sent(msg);
	return r;
}

/* ---- several messages --------------------------------------------------- */

/* Nothing of ours in any of them. What cannot be read is looked at one by
 * one. */
static bool mmsg_plain(const struct mmsghdr *v, unsigned n)
{
	struct message m;
	bool plain = true;

	if (!fm_looks())
		return true;
	for (unsigned i = 0; plain && i < n && i < IOV_MAX; i++) {
		plain = msg_read(&m, &v[i].msg_hdr) &&
			!msg_touches(&m, &v[i].msg_hdr);
		msg_free(&m);
	}
	return plain;
}

static int mmsg_end(unsigned done, unsigned n, int saved)
{
	if (!done && n)
		return -1;
	errno = saved;
	return (int)done;
}

static bool set_length(struct mmsghdr *v, unsigned n)
{
	return fm_user_write(&v->msg_len, &n, sizeof(n)) ||
	       fm_result(-EFAULT) >= 0;
}

/* One by one, which is what the kernel does too. */
static int send_each(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags)
{
	const int saved = errno;
	unsigned i;

	for (i = 0; i < n && i < IOV_MAX; i++) {
		ssize_t r = fm_do_sendmsg(raw, fd, &v[i].msg_hdr, flags);

		if (r < 0 || !set_length(&v[i], (unsigned)r))
			break;
	}
	return mmsg_end(i, n, saved);
}

/* Descriptors among it go one by one, too. */
static bool gives(const struct mmsghdr *v, unsigned n)
{
	struct msghdr hdr;

	for (unsigned i = 0; i < n && i < IOV_MAX; i++)
		if (!fm_user_read(&hdr, &v[i].msg_hdr, sizeof(hdr)) ||
		    hdr.msg_controllen)
			return true;
	return false;
}

static void give_each(const struct mmsghdr *v, unsigned n)
{
	for (unsigned i = 0; i < n && i < IOV_MAX; i++)
		give_sent(&v[i].msg_hdr);
}

int fm_do_sendmmsg(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags)
{
	int r;

	fm_ipc_before();
	if (fm_looks() && (!mmsg_plain(v, n) || gives(v, n)))
		return send_each(raw, fd, v, n, flags);
	r = FM_PASS_VIA(raw, sendmmsg, SYS_sendmmsg, fd, v, n, flags);
	if (r > 0 && !fm_looks())
		give_each(v, (unsigned)r);
	return r;
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

FM_SLOW int recvmmsg_slow(bool raw, int fd, struct mmsghdr *v, unsigned n,
			  int flags, struct timespec *timeout)
{
	const int saved = errno;
	struct timespec left;
	uint64_t end = 0;
	unsigned i = 0;
	bool up = false;

	if (timeout && !fm_user_read(&left, timeout, sizeof(left)))
		return (int)fm_result(-EFAULT);
	if (timeout)
		end = fm_now_ns() + (uint64_t)left.tv_sec * 1000000000u +
		      (uint64_t)left.tv_nsec;
	while (!up && i < n && i < IOV_MAX) {
		ssize_t r = fm_do_recvmsg(raw, fd, &v[i].msg_hdr,
					  flags & ~MSG_WAITFORONE);

		if (r < 0 || !set_length(&v[i], (unsigned)r))
			break;
		i++;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		up = timeout && time_is_up(end, &left);
	}
	if (timeout && i)
		fm_user_write(timeout, &left, sizeof(left));
	return mmsg_end(i, n, saved);
}

int fm_do_recvmmsg(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags,
		   struct timespec *timeout)
{
	if (mmsg_plain(v, n) && !fm_touches(timeout, sizeof(*timeout)))
		return (int)fm_ipc_after(FM_PASS_VIA(raw, recvmmsg,
						     SYS_recvmmsg, fd, v, n,
						     flags, timeout));
	return (int)fm_ipc_after(recvmmsg_slow(raw, fd, v, n, flags, timeout));
}
