/* SPDX-License-Identifier: MIT */
/*
 * io_async.c - io_uring and libaio: what they transfer is not seen, so the engine is
 * told when the program makes its first ring or context (src/peers/async.h). By the names
 * of liburing's and libaio's libraries, and by syscall(). Neither need be there, or be
 * found by the next of these names when a module brought it: so libaio's, which are
 * system calls that return -errno, are that, and liburing's are looked for.
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
int io_uring_setup(unsigned entries, struct io_uring_params *p);
int io_uring_queue_init(unsigned entries, struct io_uring *r, unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *r,
			       struct io_uring_params *p);
int io_uring_queue_init_mem(unsigned entries, struct io_uring *r,
			    struct io_uring_params *p, void *buf, size_t size);

static void begins(void)
{
	if (fm_on())
		fm_async_begins();
}

/* ---- libaio ------------------------------------------------------------- */

FM_HOOK int io_setup(int events, context *ret)
{
	begins();
	return (int)fm_sys2(SYS_io_setup, events, ret);
}

FM_HOOK int io_queue_init(int events, context *ret)
{
	if (events <= 0)
		return -EINVAL;
	*ret = 0;
	return io_setup(events, ret);
}

/* A buffer in managed memory is used later. What cannot be read says EFAULT. */
static bool give_up_buffer(struct iocb *const *at)
{
	struct iocb *cb, c;

	if (!fm_user_read(&cb, at, sizeof(cb)) || !fm_user_read(&c, cb, sizeof(c)))
		return false;
	if ((c.aio_lio_opcode == IOCB_CMD_PREAD || c.aio_lio_opcode == IOCB_CMD_PWRITE) &&
	    fm_overlaps((void *)(uintptr_t)c.aio_buf, c.aio_nbytes))
		fm_demote_range((void *)(uintptr_t)c.aio_buf, c.aio_nbytes, "aio");
	return true;
}

FM_HOOK int io_submit(context ctx, long n, struct iocb **v)
{
	for (long i = 0; fm_active() && i < n && give_up_buffer(v + i); i++)
		;
	return (int)fm_sys3(SYS_io_submit, ctx, n, v);
}

/* ---- liburing ----------------------------------------------------------- */

static void *next_of(const char *name)
{
	static const char *const libs[] = { "liburing.so.2", "liburing-ffi.so.2",
					    "liburing.so.1" };
	void *p = fm_next_late(name);

	for (size_t i = 0; !p && i < sizeof(libs) / sizeof(*libs); i++) {
		void *lib = dlopen(libs[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!lib)
			continue;
		p = dlsym(lib, name); /* the library stays: p is kept */
	}
	return p;
}

#define RING(fn, params, ...)                                              \
	FM_HOOK int fn params                                              \
	{                                                                  \
		static int (*_Atomic next) params;                         \
		int (*call) params = atomic_load(&next);                   \
                                                                           \
		begins();                                                  \
		if (!call) {                                               \
			call = (int (*) params)(uintptr_t)next_of(#fn);    \
			atomic_store(&next, call);                         \
		}                                                          \
		return call ? call(__VA_ARGS__) : -ENOSYS;                 \
	}

/* clang-format off */
RING(io_uring_setup, (unsigned n, struct io_uring_params *p), n, p)
RING(io_uring_queue_init, (unsigned n, struct io_uring *r, unsigned flags), n, r, flags)
RING(io_uring_queue_init_params,
     (unsigned n, struct io_uring *r, struct io_uring_params *p), n, r, p)
RING(io_uring_queue_init_mem,
     (unsigned n, struct io_uring *r, struct io_uring_params *p, void *buf, size_t size),
     n, r, p, buf, size)
/* clang-format on */

/* ---- by number ---------------------------------------------------------- */

long fm_syscall_async(long nr, long a, long b, long c);
long fm_syscall_async(long nr, long a, long b, long c)
{
	switch (nr) {
	case SYS_io_setup:
	case SYS_io_uring_setup:
		begins();
		break;
	case SYS_io_submit:
		return fm_result(io_submit((context)a, b, (struct iocb **)c));
	}
	return -2;
}
