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

_Atomic uint32_t *fm_thread_fds_leave(void)
{
	return NULL;
}
