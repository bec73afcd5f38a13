/* SPDX-License-Identifier: MIT */
/*
 * heap.h - between the files of libfastmap-heap.so: a program's malloc, whose
 * memory is a file that libfastmap serves (docs/heap.md).
 *
 *   family.c   malloc and its relatives, as the program calls them
 *   arenas.c   the private jemalloc behind them
 *   extents.c  where its extents come from: memory first, then the file
 *   kept.c     what libc allocates itself: memory
 *   file.c     the file: room, holes, a copy
 *   child.c    fork
 *   say.c      a line on stderr
 *
 * Nothing here calls malloc, stdio, or what waits for another thread.
 */
#pragma once

#include "heap_calls.h"

#include <stddef.h>

#define HEAP_PAGE 4096ul
#define HEAP_EXPORT __attribute__((visibility("default")))

extern struct fm_heap_calls fastmap_heap_calls HEAP_EXPORT;

/* ---- arenas.c ------------------------------------------------------------ */

/* At each entry: jemalloc takes its extents from us. */
void heap_begin(void);
/* By any thread: the next that calls malloc counts what the program has. */
void heap_count(void);
/* For malloc_trim: 1. */
int heap_trim(void);
/* ---- extents.c ----------------------------------------------------------- */

struct extent_hooks_s;
extern struct extent_hooks_s *const heap_extents;

/* Memory of its own, that is never in the file. NULL: no more. */
void *heap_near_map(size_t len, size_t align);

/* ---- kept.c -------------------------------------------------------------- */

struct heap_code {
	uintptr_t at;
	size_t len;
};

static inline bool heap_code_has(const struct heap_code *c, const void *p)
{
	return (uintptr_t)p - c->at < c->len;
}

extern struct heap_code heap_libc;

/* At the first allocation. */
void heap_kept_begin(void);
/* For a caller in libc: n bytes that stay in memory; NULL: as for others. */
void *heap_kept(const void *caller, size_t n);

/* ---- file.c -------------------------------------------------------------- */

/* Is there a file, and is this of it? */
bool heap_file_has(const void *p);
/* NULL: no more. Bytes that are zero, with room on the device. */
void *heap_file_take(size_t len, size_t align);
/* -errno: as it was. Give the blocks back, or have some again: bytes that are
 * zero. */
int heap_file_punch(void *p, size_t len);
int heap_file_fill(void *p, size_t len);

/* May a copy be made for a child? 0, or -errno, which has been said. */
int heap_copy_begin(void);
/* One that was begun is not wanted. */
void heap_copy_end(void);

/* ---- say.c --------------------------------------------------------------- */

/* One line on stderr. */
void heap_say(const char *text, const char *more, int err);
