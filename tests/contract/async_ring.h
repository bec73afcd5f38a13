/* SPDX-License-Identifier: MIT */
/* async_ring.h - C86 by a ring of liburing's shared library; ready() is
 * left. */
#include "async.h"

#include <liburing.h>

static struct io_uring ring;

static ssize_t transfer(int fd, void *b, size_t len, off_t off, bool write)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct io_uring_cqe *cqe = NULL;
	int r;

	if (write)
		io_uring_prep_write(sqe, fd, b, (unsigned)len, (uint64_t)off);
	else
		io_uring_prep_read(sqe, fd, b, (unsigned)len, (uint64_t)off);
	if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &cqe))
		ct_die("io_uring");
	r = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return r;
}
