/* SPDX-License-Identifier: MIT */
/* next.h - what next.c finds. */
#ifndef NEXT_H
#define NEXT_H

#include <stddef.h>
#include <sys/types.h>

struct next {
	void *(*map)(void *, size_t, int, int, int, off_t);
	void *(*map64)(void *, size_t, int, int, int, off_t);
	int (*unmap)(void *, size_t);
	void *(*remap)(void *, size_t, size_t, int, ...);
	int (*sync)(void *, size_t, int);
	int (*advise)(void *, size_t, int);
	ssize_t (*get)(int, void *, size_t, off_t);
	ssize_t (*put)(int, const void *, size_t, off_t);
};

/* What its constructor has found, and what it finds now. */
struct next next_early(void);
struct next next_late(void);
/* Does it not find what there is not? */
int next_unknown(void);

#endif
