/* SPDX-License-Identifier: MIT */
/*
 * io_wait.c - calls that wait for events, most of them under a signal mask. Two
 * things meet here: SIGBUS must not be blocked (sigmask.c), and the arrays may
 * lie in managed memory, where the kernel can neither read nor fill them. The
 * masks need no copy, strip has made one.
 */
#include "io_object.h"

#include <poll.h>
#include <sys/epoll.h>

FM_NEXT(ppoll)
FM_NEXT(pselect)
FM_NEXT(epoll_pwait)
FM_NEXT(epoll_pwait2)

/* A mask of the program in ordinary memory, for the calls that are passed on
 * as they are. */
static const sigset_t *plain_mask(const sigset_t *mask, sigset_t *copy)
{
	if (!mask || !fm_touches(mask, 8))
		return mask;
	sigemptyset(copy);
	copy->__val[0] = mask->__val[0];
	return copy;
}

/* ---- poll -------------------------------------------------------------- */

FM_NEXT(poll)
int __poll(struct pollfd *fds, nfds_t n, int timeout);

/* What the kernel stores, and when: another thread may have changed the rest
 * meanwhile. */
static int polled(struct fm_object *b, nfds_t n, int r)
{
	struct pollfd *user = b->user;
	const struct pollfd *mem = b->mem;
	bool done = true;

	if (mem != user && (r >= 0 || errno == EINTR))
		for (nfds_t i = 0; done && i < n; i++)
			done = fm_user_write(&user[i].revents, &mem[i].revents,
					     sizeof(mem->revents));
	fm_object_end(b, 0);
	return done ? r : (int)fm_result(-EFAULT);
}

FM_SLOW int poll_slow(struct pollfd *fds, nfds_t n, int timeout)
{
	struct fm_object b;

	fds = fm_object(&b, fds, n * sizeof(*fds), BOTH);
	return polled(&b, n, FM_PASS(poll, __NR_poll, fds, n, timeout));
}

FM_HOOK int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (fm_touches(fds, n * sizeof(*fds)))
		return (int)fm_ipc_after(poll_slow(fds, n, timeout));
	return (int)fm_ipc_after(FM_PASS(poll, __NR_poll, fds, n, timeout));
}

FM_ALIAS(poll) int __poll(struct pollfd *fds, nfds_t n, int timeout);
/* ---- ppoll ------------------------------------------------------------- */

static int ppoll_masked(struct pollfd *fds, nfds_t n,
			const struct timespec *timeout, const sigset_t *mask)
{
	struct fm_wait w;
	sigset_t copy;
	int r;

	if (!fm_on() || !mask || !FM_FOUND(ppoll))
		return FM_PASS_SET(ppoll, SYS_ppoll, fds, n, timeout,
				   plain_mask(mask, &copy));
	if (!fm_wait_enter(&w, mask))
		return -1;
	r = FM_FOUND(ppoll)(fds, n, timeout, &w.mask);
	fm_wait_leave(&w);
	return r;
}

FM_SLOW int ppoll_slow(struct pollfd *fds, nfds_t n,
		       const struct timespec *timeout, const sigset_t *mask)
{
	struct fm_object b, bt;
	int r;

	fds = fm_object(&b, fds, n * sizeof(*fds), BOTH);
	timeout = fm_object(&bt, timeout, sizeof(*timeout), IN);
	r = ppoll_masked(fds, n, timeout, mask);
	fm_object_end(&bt, 0);
	return polled(&b, n, r);
}

FM_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		  const sigset_t *mask)
{
	if (fm_touches(fds, n * sizeof(*fds)) ||
	    fm_touches(timeout, sizeof(*timeout)))
		return (int)fm_ipc_after(ppoll_slow(fds, n, timeout, mask));
	return (int)fm_ipc_after(ppoll_masked(fds, n, timeout, mask));
}

/* ---- pselect ----------------------------------------------------------- */

static int pselect_masked(int n, fd_set *rd, fd_set *wr, fd_set *ex,
			  const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t copy;
	struct {
		const sigset_t *set;
		size_t size;
	} raw = { mask, 8 };
	struct fm_wait w;
	int r;

	if (!FM_FOUND(pselect))
		return (int)fm_result(fm_syscall(SYS_pselect6, n, rd, wr, ex,
						 timeout, &raw));
	if (!fm_on() || !mask)
		return FM_FOUND(pselect)(n, rd, wr, ex, timeout,
				    plain_mask(mask, &copy));
	if (!fm_wait_enter(&w, mask))
		return -1;
	r = FM_FOUND(pselect)(n, rd, wr, ex, timeout, &w.mask);
	fm_wait_leave(&w);
	return r;
}

FM_SLOW int pselect_slow(int n, fd_set *rd, fd_set *wr, fd_set *ex,
			 const struct timespec *timeout, const sigset_t *mask)
{
	const size_t size = ((size_t)(n > 0 ? n : 0) + 63) / 64 * 8;
	struct fm_object b[4];
	int r;

	rd = fm_object(&b[0], rd, size, BOTH);
	wr = fm_object(&b[1], wr, size, BOTH);
	ex = fm_object(&b[2], ex, size, BOTH);
	timeout = fm_object(&b[3], timeout, sizeof(*timeout), IN);
	r = pselect_masked(n, rd, wr, ex, timeout, mask);
	for (int i = 0; i < 3; i++)
		fm_object_end(&b[i], r >= 0 ? size : 0);
	fm_object_end(&b[3], 0);
	return r;
}

FM_HOOK int pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
		    const struct timespec *timeout, const sigset_t *mask)
{
	if (fm_looks() &&
	    (fm_data_in(rd, 1) || fm_data_in(wr, 1) || fm_data_in(ex, 1) ||
	     fm_data_in(timeout, sizeof(*timeout))))
		return (int)fm_ipc_after(pselect_slow(n, rd, wr, ex, timeout,
						 mask));
	return (int)fm_ipc_after(pselect_masked(n, rd, wr, ex, timeout, mask));
}

/* ---- epoll ------------------------------------------------------------- */

static size_t events_size(int max)
{
	return (size_t)(max > 0 ? max : 0) * sizeof(struct epoll_event);
}

static int epoll_masked(int fd, struct epoll_event *events, int max,
			int timeout, const sigset_t *mask)
{
	struct fm_wait w;
	sigset_t copy;
	int r;

	if (!fm_on() || !mask || !FM_FOUND(epoll_pwait))
		return FM_PASS_SET(epoll_pwait, SYS_epoll_pwait, fd, events,
				   max, timeout, plain_mask(mask, &copy));
	if (!fm_wait_enter(&w, mask))
		return -1;
	r = FM_FOUND(epoll_pwait)(fd, events, max, timeout, &w.mask);
	fm_wait_leave(&w);
	return r;
}

FM_SLOW int epoll_slow(int fd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	struct fm_object b;
	int r;

	events = fm_object(&b, events, events_size(max), OUT);
	r = epoll_masked(fd, events, max, timeout, mask);
	return fm_object_end(&b, r > 0 ? events_size(r) : 0) ?
		       r : (int)fm_result(-EFAULT);
}

FM_HOOK int epoll_pwait(int fd, struct epoll_event *events, int max,
			int timeout, const sigset_t *mask)
{
	if (fm_touches(events, events_size(max)))
		return (int)fm_ipc_after(epoll_slow(fd, events, max, timeout,
					       mask));
	return (int)fm_ipc_after(epoll_masked(fd, events, max, timeout, mask));
}

static int epoll2_masked(int fd, struct epoll_event *events, int max,
			 const struct timespec *timeout, const sigset_t *mask)
{
	struct fm_wait w;
	sigset_t copy;
	int r;

	if (!fm_on() || !mask || !FM_FOUND(epoll_pwait2))
		return FM_PASS_SET(epoll_pwait2, SYS_epoll_pwait2, fd, events,
				   max, timeout, plain_mask(mask, &copy));
	if (!fm_wait_enter(&w, mask))
		return -1;
	r = FM_FOUND(epoll_pwait2)(fd, events, max, timeout, &w.mask);
	fm_wait_leave(&w);
	return r;
}

FM_SLOW int epoll2_slow(int fd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	struct fm_object b, bt;
	int r;

	events = fm_object(&b, events, events_size(max), OUT);
	timeout = fm_object(&bt, timeout, sizeof(*timeout), IN);
	r = epoll2_masked(fd, events, max, timeout, mask);
	fm_object_end(&b, r > 0 ? events_size(r) : 0);
	fm_object_end(&bt, 0);
	return r;
}

FM_HOOK int epoll_pwait2(int fd, struct epoll_event *events, int max,
			 const struct timespec *timeout, const sigset_t *mask)
{
	if (fm_touches(events, events_size(max)) ||
	    fm_touches(timeout, sizeof(*timeout)))
		return (int)fm_ipc_after(epoll2_slow(fd, events, max, timeout,
						     mask));
	return (int)fm_ipc_after(epoll2_masked(fd, events, max, timeout, mask));
}
