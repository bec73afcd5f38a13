/* SPDX-License-Identifier: MIT */
/* C86 by libaio. */
#include "async.h"

#ifdef HAVE_LIBAIO
#include <libaio.h>

static io_context_t ctx;

static void ready(void)
{
	int r = io_setup(4, &ctx);

	if (r < 0)
		ct_skip("no asynchronous I/O here");
}

static ssize_t transfer(int fd, void *b, size_t len, off_t off, bool write)
{
	struct iocb cb, *v[1] = { &cb };
	struct io_event e;

	if (write)
		io_prep_pwrite(&cb, fd, b, len, off);
	else
		io_prep_pread(&cb, fd, b, len, off);
	if (io_submit(ctx, 1, v) != 1 || io_getevents(ctx, 1, 1, &e, NULL) != 1)
		ct_die("libaio");
	return (ssize_t)e.res;
}
#else
static void ready(void)
{
	ct_skip("built without libaio-dev");
}

static ssize_t transfer(int fd, void *b, size_t len, off_t off, bool write)
{
	return write ? pwrite(fd, b, len, off) : pread(fd, b, len, off);
}
#endif
