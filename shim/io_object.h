/* SPDX-License-Identifier: MIT */
/*
 * io_object.h - hooks of calls that do more than calls.def can say, with small
 * objects that the kernel reads or fills. Objects in managed memory are
 * replaced by copies, so that nothing is pinned while a call blocks.
 */
#pragma once

#include "guard.h"

/*
 * One row per call: `p` is the pointer argument, `size` the object's bytes,
 * `how` the direction, `got` the bytes to copy back given the result r.
 */
#define OBJECT_(ret, fn, params, p, size, how, got, next, ...)             \
	FM_NEXT(fn)                                                        \
	FM_SLOW ret slow_##fn params                                       \
	{                                                                  \
		struct fm_object b;                                        \
		ret r;                                                     \
                                                                           \
		p = fm_object(&b, p, size, how);                           \
		r = next;                                                  \
		if (!fm_object_end(&b, got))                               \
			return (ret)fm_result(-EFAULT);                    \
		return r;                                                  \
	}                                                                  \
	FM_HOOK ret fn params                                              \
	{                                                                  \
		if (!fm_touches(p, size))                                  \
			return next;                                       \
		return slow_##fn(__VA_ARGS__);                             \
	}
#define IN FM_COPY_IN
#define OUT FM_COPY_OUT
#define BOTH (FM_COPY_IN | FM_COPY_OUT)

/* The same with two objects, p and q. */
#define OBJECT2_(ret, fn, params, p, size, how, got, q, qsize, qhow, qgot, \
		 next, ...)                                                \
	FM_NEXT(fn)                                                        \
	FM_SLOW ret slow_##fn params                                       \
	{                                                                  \
		struct fm_object b, c;                                     \
		ret r;                                                     \
                                                                           \
		p = fm_object(&b, p, size, how);                           \
		q = fm_object(&c, q, qsize, qhow);                         \
		r = next;                                                  \
		fm_object_end(&b, got);                                    \
		fm_object_end(&c, qgot);                                   \
		return r;                                                  \
	}                                                                  \
	FM_HOOK ret fn params                                              \
	{                                                                  \
		if (!fm_touches(p, size) && !fm_touches(q, qsize))         \
			return next;                                       \
		return slow_##fn(__VA_ARGS__);                             \
	}
