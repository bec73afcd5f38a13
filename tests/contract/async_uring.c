/* SPDX-License-Identifier: MIT */
/* C86 by liburing. */
#include "async_ring.h"

static void ready(void)
{
	if (io_uring_queue_init(4, &ring, 0))
		ct_skip("no io_uring here");
}
