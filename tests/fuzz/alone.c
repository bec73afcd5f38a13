/* SPDX-License-Identifier: MIT */
/* alone.c - what the parsers' rooms ask of the engine, where there is none: no
 * thread of ours has descriptors that it would have to keep away from. */
#include <stddef.h>

#include "base/apart.h"
#include "base/thread.h"

void fm_apart_from_fds(void (*fn)(void *arg), void *arg)
{
	fn(arg);
}

bool fm_thread_fds_leave_for_good(void)
{
	return false;
}
