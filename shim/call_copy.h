/* SPDX-License-Identifier: MIT */
/*
 * call_copy.h - calls whose pointers may lie in managed memory, from the table
 * of all of them (calls.def): what is ours is replaced by copies, so that
 * nothing is pinned while the call blocks, and what the kernel has changed in
 * a copy is stored where the program wants it.
 */
#pragma once

#include "guard.h"

enum fm_ptr_kind {
	FM_PTR_END,
	FM_PTR_STRING,
	FM_PTR_FIXED,  /* size */
	FM_PTR_COUNT,  /* size for each of argument n */
	FM_PTR_INTS,   /* the same, an int */
	FM_PTR_BITS,   /* longs of bits: argument n less size */
	FM_PTR_REPLY,  /* argument n points to the length */
	FM_PTR_SIZED,  /* size, and what its int at n says; at least `least` */
	FM_PTR_UPTO,   /* at most size */
	FM_PTR_BY,     /* fm_ptr_by[n] says */
	FM_PTR_INNER,  /* at size in the object before; its length at n there,
			* a word of least */
};

#define FM_PTRS 6

struct fm_call {
	struct fm_ptr {
		uint8_t kind, arg, how, n;
		uint16_t size, least;
	} at[FM_PTRS + 1]; /* the last is an end */
};

typedef long fm_call_fn(long a, long b, long c, long d, long e, long f);

/* By number. What it does not list has no pointers that are copied. */
extern const struct fm_call fm_calls[FM_ROWS];

/* Does one of the call's pointers lie in managed memory? */
bool fm_call_touches(const struct fm_call *w, const long v[6]);
/* `next`, or with NULL the kernel's call of that number, with copies in place
 * of what is managed. Results are libc's; v is changed. */
long fm_call_copied(const struct fm_call *w, fm_call_fn *next, long nr,
		    long v[6]);

/* What is behind a hook. NULL: the kernel's call, if the processor has it. */
#define FM_BEHIND(fn) (__NR_##fn < FM_CALLS ? FM_FOUND(fn) : FM_LATE(fn))

/* The call as it is. */
long fm_call_made(fm_call_fn *next, long nr, const long v[6]);
/* With copies if there is something to copy: for a hook that does more. */
long fm_call_next(long nr, fm_call_fn *next, long a, long b, long c, long d);
#define FM_CALL_NEXT(next, nr, a, b, c, d)                                 \
	((int)fm_call_next(nr, (fm_call_fn *)(void *)(next), (long)(a),    \
			   (long)(b), (long)(c), (long)(d)))
