/* SPDX-License-Identifier: MIT */
/*
 * call_hooks.c - the functions at the end of calls.def. A hook takes and hands
 * on what a call of the C convention has in registers, six longs, whatever the
 * types: none has more, and none has floating point.
 */
#include "call_table.h"
#include "io_backing.h"

#include <string.h>

enum { LATE = 1, TELLS = 2, HEARS = 4, AGAIN = 8, SIZES = 16, LESS = 32 };

struct hook {
	fm_call_fn *next; /* as it was looked at */
	const struct fm_next *entry;
	const struct fm_call *call;
	short nr; /* -1, or not below FM_CALLS: only libc has it */
	short flags;
};

static fm_call_fn *behind(const struct hook *h)
{
	const bool call = h->nr >= 0 && h->nr < FM_CALLS;
	void *p = (void *)h->next;

	if (!p)
		p = fm_next_find(h->entry);
	return (fm_call_fn *)(p || (call && !(h->flags & LATE)) ?
				      p : fm_next_late(fm_next_name(h->entry)));
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
	return (int)r == 0 ?
		       fm_backing_stats(fm_next_name(h->entry), was, r) : r;
}

static __attribute__((noinline)) long through(const struct hook *h, long v[6])
{
	long r;

	if (h->flags & TELLS)
		fm_ipc_before();
	if (h->flags & LESS)
		fm_before_less();
	r = with_size(h, v);
	if (h->flags & HEARS && (int)r != -1)
		fm_ipc_after(0);
	return r;
}

#define V a, b, c, d, e, f
#define PARAMETERS long a, long b, long c, long d, long e, long f

/* What a slow path needs is made there: the loader would have to fill in a
 * table. */
#define HOW(fn, row, nr, how)                                                 \
	&(const struct hook){ behind_##fn, &fm_next_entry_##fn, row, nr, how }

#define DEFINE(fn, row, nr, how)                                              \
	FM_HOOK long hook_##fn(PARAMETERS) __asm__(#fn);                      \
	static fm_call_fn *next_##fn __attribute__((used));                   \
	FM_NEXT_ENTRY(fn, "next_" #fn, "0")                                   \
	FM_HOOK long hook_##fn(PARAMETERS)                                    \
	{                                                                     \
		fm_call_fn *behind_##fn =                                     \
			__atomic_load_n(&next_##fn, __ATOMIC_RELAXED);        \
		long v[6] = { V };                                            \
                                                                              \
		if (!((how) & AGAIN))                                         \
			return !fm_looks() && behind_##fn &&                  \
					       !((how) & SIZES &&             \
						 fm_sourced())                \
				       ? behind_##fn(V)                       \
				       : through(HOW(fn, row, nr, how), v);   \
		return call_hooks_again(                                      \
			HOW(fn, row, nr, how),                                \
			behind_##fn ?                                         \
				behind_##fn(V) :                              \
				fm_call_made(behind(HOW(fn, row, nr, how)),   \
					     nr, v),                          \
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
