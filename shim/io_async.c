/* SPDX-License-Identifier: MIT */
/*
 * io_async.c - io_uring and libaio: what they transfer is not seen, so the
 * engine is told when the program makes its first ring or context
 * (src/peers/async.h). By the names of liburing's and libaio's libraries, and
 * by syscall(). Neither need be there, or be found by the next of these names
 * when a module brought it: so libaio's, which are system calls that return
 * -errno, are that, and liburing's are looked for.
 */
#include "guard.h"

#include <dlfcn.h>
#include <linux/aio_abi.h>

struct io_uring;
struct io_uring_params;
typedef unsigned long context;

int io_setup(int events, context *ret);
int io_queue_init(int events, context *ret);
int io_submit(context ctx, long n, struct iocb **v);
int io_cancel(context ctx, struct iocb *cb, struct io_event *e);
int io_getevents(context ctx, long least, long n, struct io_event *e,
		 struct timespec *t);
int io_pgetevents(context ctx, long least, long n, struct io_event *e,
		  struct timespec *t, sigset_t *mask);
int io_uring_setup(unsigned entries, struct io_uring_params *p);
int io_uring_queue_init(unsigned entries, struct io_uring *r, unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *r,
			       struct io_uring_params *p);
int io_uring_queue_init_mem(unsigned entries, struct io_uring *r,
			    struct io_uring_params *p, void *buf, size_t size);

#define MOST 65536 /* requests of one call */

static void io_async_begins(void)
{
	if (fm_on())
		fm_async_begins();
}

static void *next_of(const char *name)
{
	static const char *const libs[] = { "liburing.so.2",
					    "liburing-ffi.so.2",
					    "liburing.so.1", "libaio.so.1",
					    "libaio.so.1t64" };
	void *p = fm_next_late(name);

	for (size_t i = 0; !p && i < sizeof(libs) / sizeof(*libs); i++) {
		void *lib = dlopen(libs[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!lib)
			continue;
		p = dlsym(lib, name); /* the library stays: p is kept */
	}
	return p;
}

/* What the library behind us does, after `first`; `absent` where there is
 * none. */
#define BEHIND(fn, params, first, absent, ...)                             \
	FM_HOOK int fn params                                              \
	{                                                                  \
		static int (*_Atomic next) params;                         \
		int (*call) params = atomic_load(&next);                   \
                                                                           \
		first;                                                     \
		if (!call) {                                               \
			call = (int (*) params)(uintptr_t)next_of(#fn);    \
			atomic_store(&next, call);                         \
		}                                                          \
		return call ? call(__VA_ARGS__) : absent;                  \
	}

/* ---- libaio ------------------------------------------------------------- */

FM_HOOK int io_setup(int events, context *ret)
{
	io_async_begins();
	fm_demote_touched(ret, sizeof(*ret), FM_WHY_AIO);
	return (int)fm_sys2(SYS_io_setup, events, ret);
}

FM_HOOK int io_queue_init(int events, context *ret)
{
	if (events <= 0)
		return -EINVAL;
	*ret = 0;
	return io_setup(events, ret);
}

static void give_up_vector(const struct iovec *iov, size_t n)
{
	struct fm_vec v;

	fm_demote_touched(iov, n * sizeof(*iov), FM_WHY_AIO);
	if (n > IOV_MAX || fm_vec_read(&v, iov, n))
		return;
	for (size_t i = 0; i < n; i++)
		fm_demote_touched(v.iov[i].iov_base, v.iov[i].iov_len,
				  FM_WHY_AIO);
	fm_vec_free(&v, n);
}

/* Buffers in managed memory are used later, the request is stored to. What
 * cannot be read says EFAULT. */
static bool io_async_give_up_request(struct iocb *const *at)
{
	struct iocb *cb, c;
	void *buf;

	if (!fm_user_read(&cb, at, sizeof(cb)))
		return false;
	fm_demote_touched(cb, sizeof(*cb), FM_WHY_AIO);
	if (!fm_user_read(&c, cb, sizeof(c)))
		return false;
	buf = (void *)(uintptr_t)c.aio_buf;
	switch (c.aio_lio_opcode) {
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PWRITE:
		fm_demote_touched(buf, c.aio_nbytes, FM_WHY_AIO);
		break;
	case IOCB_CMD_PREADV:
	case IOCB_CMD_PWRITEV:
		give_up_vector(buf, c.aio_nbytes);
		break;
	}
	return true;
}

FM_HOOK int io_submit(context ctx, long n, struct iocb **v)
{
	if (fm_looks() && n > 0)
		fm_demote_touched(v, fm_least((size_t)n, MOST) * sizeof(*v),
				  FM_WHY_AIO);
	for (long i = 0; fm_looks() && i < n && io_async_give_up_request(v + i);
	     i++)
		;
	return (int)fm_sys3(SYS_io_submit, ctx, n, v);
}

FM_HOOK int io_cancel(context ctx, struct iocb *cb, struct io_event *e)
{
	fm_demote_touched(cb, sizeof(*cb), FM_WHY_AIO);
	fm_demote_touched(e, sizeof(*e), FM_WHY_AIO);
	return (int)fm_sys3(SYS_io_cancel, ctx, cb, e);
}

static void give_up_events(long n, const struct io_event *e,
			   const struct timespec *t)
{
	if (n > 0)
		fm_demote_touched(e, fm_least((size_t)n, MOST) * sizeof(*e),
				  FM_WHY_AIO);
	fm_demote_touched(t, sizeof(*t), FM_WHY_AIO);
}

/* libaio looks for events without a system call: it is asked where it is
 * there. */
#define EVENTS(fn, params, made, ...) \
	BEHIND(fn, params, give_up_events(n, e, t), (int)(made), __VA_ARGS__)

struct aio_sigset {
	const sigset_t *mask;
	size_t size;
};

/* clang-format off */
EVENTS(io_getevents,
       (context ctx, long least, long n, struct io_event *e,
	struct timespec *t),
       fm_sys5(SYS_io_getevents, ctx, least, n, e, t),
       ctx, least, n, e, t)
EVENTS(io_pgetevents,
       (context ctx, long least, long n, struct io_event *e, struct timespec *t,
	sigset_t *mask),
       fm_sys6(SYS_io_pgetevents, (long)ctx, least, n, (long)e, (long)t,
	       (long)&(struct aio_sigset){ mask, 8 }),
       ctx, least, n, e, t, mask)
/* clang-format on */

/* ---- liburing ----------------------------------------------------------- */

#define RING(fn, params, ...) \
	BEHIND(fn, params, io_async_begins(), -ENOSYS, __VA_ARGS__)

/* clang-format off */
RING(io_uring_setup, (unsigned n, struct io_uring_params *p), n, p)
RING(io_uring_queue_init,
     (unsigned n, struct io_uring *r, unsigned flags), n, r, flags)
RING(io_uring_queue_init_params,
     (unsigned n, struct io_uring *r, struct io_uring_params *p), n, r, p)
RING(io_uring_queue_init_mem,
     (unsigned n, struct io_uring *r, struct io_uring_params *p, void *buf,
      size_t size),
     n, r, p, buf, size)
/* clang-format on */

/* ---- by number ---------------------------------------------------------- */

long fm_syscall_async(long nr, long a, long b, long c, long d, long e);
long fm_syscall_async(long nr, long a, long b, long c, long d, long e)
{
	switch (nr) {
	case SYS_io_setup:
		return fm_result(io_setup((int)a, (context *)b));
	case SYS_io_uring_setup:
		io_async_begins();
		break;
	case SYS_io_submit:
		return fm_result(io_submit((context)a, b, (struct iocb **)c));
	case SYS_io_cancel:
		return fm_result(io_cancel((context)a, (struct iocb *)b,
					   (struct io_event *)c));
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		give_up_events(c, (struct io_event *)d, (struct timespec *)e);
		break;
	}
	return -2;
}
