/* SPDX-License-Identifier: MIT */
/* C86v: what the calls of libaio use lies in mapped memory: vectors and their
 * buffers, requests, lists of them, contexts, events and times. By name and by
 * number. */
#include "ct.h"

#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SIZE (64 * PAGE)

typedef aio_context_t context;

#ifdef HAVE_LIBAIO
int io_setup(int events, context *ret);
int io_submit(context ctx, long n, struct iocb **v);
int io_cancel(context ctx, struct iocb *cb, struct io_event *e);
int io_getevents(context ctx, long least, long n, struct io_event *e,
		 struct timespec *t);
#endif

static bool by_number;
static int data, left;
static context ctx;

static int result(long r)
{
	return (int)(r < 0 ? -errno : r);
}

static int setup(int n, context *ret)
{
#ifdef HAVE_LIBAIO
	if (!by_number)
		return io_setup(n, ret);
#endif
	return result(syscall(SYS_io_setup, n, ret));
}

static int submit(long n, struct iocb **v)
{
#ifdef HAVE_LIBAIO
	if (!by_number)
		return io_submit(ctx, n, v);
#endif
	return result(syscall(SYS_io_submit, ctx, n, v));
}

static int cancel(struct iocb *cb, struct io_event *e)
{
#ifdef HAVE_LIBAIO
	if (!by_number)
		return io_cancel(ctx, cb, e);
#endif
	return result(syscall(SYS_io_cancel, ctx, cb, e));
}

static int events(long least, long n, struct io_event *e, struct timespec *t)
{
#ifdef HAVE_LIBAIO
	if (!by_number)
		return io_getevents(ctx, least, n, e, t);
#endif
	return result(syscall(SYS_io_getevents, ctx, least, n, e, t));
}

/* Of a file that is not open: a ring or context leaves it where it is. */
static char *memory(void)
{
	char name[30];
	static int n;
	char *p;
	int fd;

	snprintf(name, sizeof(name), "memory%d", n++);
	fd = ct_file(name, SIZE);
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	close(fd);
	return p;
}

static struct iocb request(int op, const void *buf, size_t n, off_t off)
{
	return (struct iocb){ .aio_lio_opcode = (uint16_t)op,
			      .aio_fildes = (uint32_t)data,
			      .aio_buf = (uintptr_t)buf,
			      .aio_nbytes = n,
			      .aio_offset = off };
}

static int wait_for(struct io_event *e)
{
	int r = events(1, 1, e, NULL);

	return r == 1 ? (int)e->res : r;
}

static int go(struct iocb *cb)
{
	struct iocb *v[1] = { cb };
	struct io_event e;
	int r = submit(1, v);

	return r == 1 ? wait_for(&e) : r;
}

/* The vector in `at`, or on the stack if that is NULL. */
static void vectors(const char *what, char *at, char *buf, bool write)
{
	struct iovec here[2] = { { buf + 100, 3000 },
				 { buf + 9 * PAGE - 50, 6000 } },
		     *v = here;
	struct iocb cb;

	if (at)
		v = memcpy(at, here, sizeof(here));
	memset(buf + 100, 0x21, 10);
	cb = request(write ? IOCB_CMD_PWRITEV : IOCB_CMD_PREADV, v, 2, 500);
	say("C86v %s, %s: %d", write ? "PWRITEV" : "PREADV", what, go(&cb));
	if (write)
		say("C86v written: %02x %d", ct_in_file(data, 509),
		    ct_in_file(data, 3500) == ct_byte(9 * PAGE - 50));
	else
		say("C86v read: %d %d", ct_matches(buf + 100, 3000, 500),
		    ct_matches(buf + 9 * PAGE - 50, 6000, 3500));
}

static void objects(char *p[])
{
	struct iocb *cb = (void *)(p[0] + 3 * PAGE - 32),
		    **v = (void *)(p[1] + 4 * PAGE);
	struct io_event *e = (void *)(p[2] + 5 * PAGE - 16);
	struct timespec *t = (void *)(p[3] + 6 * PAGE - 8);
	char b[100] = { 0 };
	int r;

	*cb = request(IOCB_CMD_PREAD, b, 100, 0);
	say("C86v a request: %d", go(cb));
	v[0] = cb;
	say("C86v a list: %d", submit(1, v));
	r = wait_for(e);
	say("C86v events: %d %d", r, e->obj == (uintptr_t)cb);
	*t = (struct timespec){ 0, 1000000 };
	say("C86v a time: %d", events(1, 1, e, t));
}

/* A read of a pipe is under way for as long as nobody writes. */
static void cancelled(char *p)
{
	struct iocb *cb = (void *)(p + 3 * PAGE), *v[1] = { cb };
	struct io_event *e = (void *)(p + 30 * PAGE);

	*cb = request(IOCB_CMD_POLL, NULL, 0, 0);
	cb->aio_fildes = (uint32_t)left;
	cb->aio_buf = 1; /* POLLIN */
	say("C86v poll: %d", submit(1, v));
	say("C86v cancelled: %d", cancel(cb, e));
	say("C86v its event: %d", wait_for(e));
	say("C86v none such: %d", cancel((void *)(p + 40 * PAGE), e));
}

static void bad(char *p)
{
	struct iocb cb = request(IOCB_CMD_PREADV, (void *)8, 2, 0),
		    *none = (void *)16;

	say("C86v a bad vector: %d", go(&cb));
	cb = request(IOCB_CMD_PREADV, p, 2000, 0);
	say("C86v too long a vector: %d", go(&cb));
	say("C86v a bad request: %d", submit(1, &none));
	say("C86v a bad list: %d", submit(1, (void *)8));
	say("C86v no list: %d", submit(0, (void *)8));
}

static void run(void)
{
	char *p[12];

	say("C86v %s", by_number ? "by number" : "by name");
	data = ct_file("data", SIZE);
	for (size_t i = 0; i < 12; i++)
		p[i] = memory();
	ctx = 0;
	memcpy(p[11] + PAGE, &ctx, sizeof(ctx));
	say("C86v a context: %d", setup(4, (context *)(void *)(p[11] + PAGE)));
	memcpy(&ctx, p[11] + PAGE, sizeof(ctx));
	if (!ctx && setup(4, &ctx) < 0)
		ct_skip("no asynchronous I/O here");
	vectors("the vector", p[0] + 40 * PAGE - 8,
		ct_map(-1, SIZE, RW, MAP_PRIVATE | MAP_ANONYMOUS, 0), false);
	vectors("the buffers", NULL, p[1], false);
	vectors("both", p[2] + 40 * PAGE - 8, p[3], false);
	vectors("both", p[4] + 40 * PAGE - 8, p[5], true);
	objects(p + 6);
	cancelled(p[10]);
	bad(p[0]);
}

int main(int argc, char **argv)
{
	int ends[2];

	ct_begin(argc, argv);
	if (pipe(ends))
		ct_die("pipe");
	left = ends[0];
	by_number = true;
	say_child("by number", run); /* what is mapped now is the kernel's */
	by_number = false;
	run();
	return 0;
}
