/* SPDX-License-Identifier: MIT */
/* C86 by a ring that is made by syscall(). */
#include "async_ring.h"

#include <sys/syscall.h>

static void ready(void)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);

	if (fd < 0 || io_uring_queue_mmap(fd, &p, &ring))
		ct_skip("no io_uring here");
}
