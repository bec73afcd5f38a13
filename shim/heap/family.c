/* SPDX-License-Identifier: MIT */
/* family.c - malloc and its relatives. C++'s operators come through these. */
#include "heap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *heap_je_malloc(size_t n);
void *heap_je_calloc(size_t n, size_t size);
void *heap_je_realloc(void *p, size_t n);
void heap_je_free(void *p);
int heap_je_posix_memalign(void **ret, size_t align, size_t n);
void *heap_je_aligned_alloc(size_t align, size_t n);
void *heap_je_memalign(size_t align, size_t n);
size_t heap_je_malloc_usable_size(void *p);

void *memalign(size_t align, size_t n);
void *valloc(size_t n);
void *pvalloc(size_t n);
void cfree(void *p);
size_t malloc_usable_size(void *p);
int malloc_trim(size_t pad);

/* Of who called the function that this stands in. */
#define KEPT(n)                                                             \
	(heap_code_has(&heap_libc, __builtin_return_address(0)) ?           \
		 heap_kept(__builtin_return_address(0), n) :                \
		 NULL)

HEAP_EXPORT void *malloc(size_t n)
{
	void *p;

	heap_begin();
	p = KEPT(n);
	return p ? p : heap_je_malloc(n);
}

HEAP_EXPORT void *calloc(size_t n, size_t size)
{
	heap_begin();
	return heap_je_calloc(n, size);
}

HEAP_EXPORT void *realloc(void *p, size_t n)
{
	void *kept;

	heap_begin();
	kept = p ? NULL : KEPT(n);
	if (kept)
		return kept;
	/* As libc's. */
	if (p && !n) {
		heap_je_free(p);
		return NULL;
	}
	return heap_je_realloc(p, n);
}

static char *copy_of(const char *s, size_t n)
{
	char *copy;

	heap_begin();
	copy = heap_je_malloc(n + 1);
	if (!copy)
		return NULL;
	copy[n] = 0;
	return memcpy(copy, s, n);
}

HEAP_EXPORT char *strdup(const char *s)
{
	return copy_of(s, strlen(s));
}

HEAP_EXPORT char *strndup(const char *s, size_t n)
{
	return copy_of(s, strnlen(s, n));
}

HEAP_EXPORT void free(void *p)
{
	if (p)
		heap_je_free(p);
}

HEAP_EXPORT void cfree(void *p)
{
	free(p);
}

HEAP_EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
	heap_begin();
	return heap_je_posix_memalign(ret, align, n);
}

HEAP_EXPORT void *aligned_alloc(size_t align, size_t n)
{
	heap_begin();
	return heap_je_aligned_alloc(align, n);
}

/* libc takes any alignment, and rounds it up to a power of two. */
HEAP_EXPORT void *memalign(size_t align, size_t n)
{
	size_t up = sizeof(void *);

	while (up < align && up << 1)
		up <<= 1;
	heap_begin();
	return heap_je_memalign(up, n);
}

HEAP_EXPORT void *valloc(size_t n)
{
	return memalign(HEAP_PAGE, n);
}

HEAP_EXPORT void *pvalloc(size_t n)
{
	size_t up = (n + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);

	if (up < n) {
		errno = ENOMEM;
		return NULL;
	}
	return memalign(HEAP_PAGE, up ? up : HEAP_PAGE);
}

HEAP_EXPORT size_t malloc_usable_size(void *p)
{
	return p ? heap_je_malloc_usable_size(p) : 0;
}

/* Memory that is in no use, and blocks of the file, are given back at once. */
HEAP_EXPORT int malloc_trim(size_t pad)
{
	heap_begin();
	return heap_trim();
}
