/* SPDX-License-Identifier: MIT */
#include "file_part.h"

#include "alloc.h"

/* None shares a line of the cache with another. */
static size_t to_line(size_t n)
{
	return (n + FM_CACHELINE - 1) & ~(size_t)(FM_CACHELINE - 1);
}

struct fm_file *fm_file_alloc(void)
{
	size_t at = to_line(sizeof(struct fm_file)), len = at;
	struct fm_file *f;

	FM_UP_EACH(file_part, p)
		len += to_line(p->size);
	f = fm_alloc(len);
	if (!f)
		return NULL;
	FM_UP_EACH(file_part, p) {
		*(void **)((char *)f + p->at) = (char *)f + at;
		at += to_line(p->size);
	}
	return f;
}
