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

FM_NEXT(poll)
FM_NEXT(ppoll)
FM_NEXT(pselect)

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

/* What is behind a hook waits under `mask`, its last argument. */
#define WAITS(fn, nr, ...)                                              \
	({                                                              \
		struct fm_wait wait_;                                   \
		sigset_t copy_;                                         \
		int r_ = -1;                                            \
                                                                        \
		if (!fm_on() || !mask || !FM_FOUND(fn)) {               \
			r_ = FM_PASS_SET(fn, nr, __VA_ARGS__,           \
					 plain_mask(mask, &copy_));     \
		} else if (fm_wait_enter(&wait_, mask)) {               \
			r_ = FM_FOUND(fn)(__VA_ARGS__, &wait_.mask);    \
			fm_wait_leave(&wait_);                          \
		}                                                       \
		(int)fm_ipc_after(r_);                                  \
	})

/* ---- poll -------------------------------------------------------------- */

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

static int ppoll_waits(struct pollfd *fds, nfds_t n,
		       const struct timespec *timeout, const sigset_t *mask)
{
	return WAITS(ppoll, SYS_ppoll, fds, n, timeout);
}

FM_SLOW int ppoll_slow(struct pollfd *fds, nfds_t n,
		       const struct timespec *timeout, const sigset_t *mask)
{
	struct fm_object b, bt;
	int r;

	fds = fm_object(&b, fds, n * sizeof(*fds), BOTH);
	timeout = fm_object(&bt, timeout, sizeof(*timeout), IN);
	r = ppoll_waits(fds, n, timeout, mask);
	fm_object_end(&bt, 0);
	return polled(&b, n, r);
}

FM_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		  const sigset_t *mask)
{
	return fm_touches(fds, n * sizeof(*fds)) ||
			       fm_touches(timeout, sizeof(*timeout)) ?
		       ppoll_slow(fds, n, timeout, mask) :
		       ppoll_waits(fds, n, timeout, mask);
}

/* ---- pselect ----------------------------------------------------------- */

static int pselect_waits(int n, fd_set *rd, fd_set *wr, fd_set *ex,
			 const struct timespec *timeout, const sigset_t *mask)
{
	const struct {
		const sigset_t *set;
		size_t size;
	} raw = { mask, 8 };

	return FM_FOUND(pselect) ?
		       WAITS(pselect, SYS_pselect6, n, rd, wr, ex, timeout) :
		       (int)fm_ipc_after(fm_result(fm_syscall(
			       SYS_pselect6, n, rd, wr, ex, timeout, &raw)));
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
	r = pselect_waits(n, rd, wr, ex, timeout, mask);
	for (int i = 0; i < 3; i++)
		fm_object_end(&b[i], r >= 0 ? size : 0);
	fm_object_end(&b[3], 0);
	return r;
}

FM_HOOK int pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
		    const struct timespec *timeout, const sigset_t *mask)
{
	return fm_looks() && (fm_data_in(rd, 1) || fm_data_in(wr, 1) ||
			      fm_data_in(ex, 1) ||
			      fm_data_in(timeout, sizeof(*timeout))) ?
		       pselect_slow(n, rd, wr, ex, timeout, mask) :
		       pselect_waits(n, rd, wr, ex, timeout, mask);
}

/* ---- epoll ------------------------------------------------------------- */

static size_t events_size(int max)
{
	return (size_t)(max > 0 ? max : 0) * sizeof(struct epoll_event);
}

/* clang-format off */
OBJECT_(int, epoll_pwait, (int fd, struct epoll_event *events, int max,
			   int timeout, const sigset_t *mask),
	events, events_size(max), OUT, r > 0 ? events_size(r) : 0,
	WAITS(epoll_pwait, SYS_epoll_pwait, fd, events, max, timeout),
	fd, events, max, timeout, mask)
OBJECT2_(int, epoll_pwait2, (int fd, struct epoll_event *events, int max,
			     const struct timespec *timeout,
			     const sigset_t *mask),
	 events, events_size(max), OUT, r > 0 ? events_size(r) : 0,
	 timeout, sizeof(*timeout), IN, 0,
	 WAITS(epoll_pwait2, SYS_epoll_pwait2, fd, events, max, timeout),
	 fd, events, max, timeout, mask)
/* clang-format on */
