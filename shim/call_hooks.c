/* SPDX-License-Identifier: MIT */
/*
 * call_hooks.c - the functions at the end of calls.def. A hook takes and hands
 * on what a call of the C convention has in registers, six longs, whatever the
 * types: none has more, and none has floating point.
 */
#include "call_table.h"
#include "io_backing.h"

#include <string.h>

enum { LATE = 1, TELLS = 2, HEARS = 4, AGAIN = 8, SIZES = 16 };

struct hook {
	fm_call_fn *next;
	const char *name;
	const struct fm_call *call;
	short nr; /* -1, or not below FM_CALLS: only libc has it */
	short flags;
};

static fm_call_fn *behind(const struct hook *h)
{
	const bool call = h->nr >= 0 && h->nr < FM_CALLS;

	return h->next || (call && !(h->flags & LATE)) ?
		       h->next : (fm_call_fn *)fm_next_late(h->name);
}

static bool efault(long r)
{
	return (int)r == -1 && errno == EFAULT;
}

static long call_hooks_again(const struct hook *h, long r, long v[6])
{
	return efault(r) && fm_looks() && fm_call_touches(h->call, v) ?
		       fm_call_copied(h->call, behind(h), h->nr, v) : r;
}

static long made(const struct hook *h, long v[6])
{
	return fm_looks() && fm_call_touches(h->call, v) ?
		       fm_call_copied(h->call, behind(h), h->nr, v) :
		       fm_call_made(behind(h), h->nr, v);
}

/* fm_call_copied changes what it is given. */
static long with_size(const struct hook *h, long v[6])
{
	long was[6], r;

	if (!(h->flags & SIZES) || !fm_may_be_sourced())
		return made(h, v);
	memcpy(was, v, sizeof(was));
	r = made(h, v);
	return (int)r == 0 ? fm_backing_stats(h->name, was, r) : r;
}

static __attribute__((noinline)) long through(const struct hook *h, long v[6])
{
	long r;

	if (h->flags & TELLS)
		fm_ipc_before();
	r = with_size(h, v);
	if (h->flags & HEARS && (int)r != -1)
		fm_ipc_after(0);
	return r;
}

#define V a, b, c, d, e, f
#define PARAMETERS long a, long b, long c, long d, long e, long f

#define DEFINE(fn, row, nr, how)                                              \
	FM_HOOK long hook_##fn(PARAMETERS) __asm__(#fn);                      \
	static struct hook at_##fn = { NULL, #fn, row, nr, how };             \
	static struct fm_next fm_next_entry_##fn __attribute__((              \
		used, section("fm_next"), aligned(sizeof(void *)))) = {       \
		#fn, (void **)(void *)&at_##fn.next, NULL,                    \
		(void *)(uintptr_t) & hook_##fn, NULL                         \
	};                                                                    \
	FM_HOOK long hook_##fn(PARAMETERS)                                    \
	{                                                                     \
		long v[6] = { V };                                            \
                                                                              \
		if (!((how) & AGAIN))                                         \
			return !fm_looks() && at_##fn.next &&                 \
					       !((how) & SIZES &&             \
						 fm_sourced())                \
				       ? at_##fn.next(V)                      \
				       : through(&at_##fn, v);                \
		return call_hooks_again(                                      \
			&at_##fn,                                             \
			at_##fn.next ? at_##fn.next(V)                        \
				     : fm_call_made(behind(&at_##fn), nr, v), \
			v);                                                   \
	}

#define CALL(name, ...)
#define NONE(name)
#define SEEN(name)
#define FORKS(name)
#define LEFT(name, why)
#define OWN(name, where)
#define HOOK(fn, call, flags)                                              \
	DEFINE(fn, &fm_calls[__NR_##call], __NR_##call, flags)
#define FUNC(fn, flags, ...)                                               \
	static const struct fm_call call_##fn = { { __VA_ARGS__ } };       \
	DEFINE(fn, &call_##fn, -1, (flags) | LATE)
#include "calls.def"
