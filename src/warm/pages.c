/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <string.h>

#include "base/sys.h"

static size_t pages_bytes_of(uint64_t n)
{
	return fm_page_up((n + 31) / 32 * 8);
}

int fm_warm_pages_make(struct fm_warm_pages *p, uint64_t n)
{
	n = fm_least(n, FM_WARM_MOST);
	*p = (struct fm_warm_pages){ .n = 0 };
	if (!n)
		return 0;
	p->level = fm_sys_anon(pages_bytes_of(n));
	if (!p->level)
		return -ENOMEM;
	p->n = n;
	return 0;
}

void fm_warm_pages_free(struct fm_warm_pages *p)
{
	if (p->level)
		fm_sys_munmap(p->level, pages_bytes_of(p->n));
	*p = (struct fm_warm_pages){ .n = 0 };
}

/* 32 pages at a time where there is nothing. */
static uint64_t skip_nothing(const struct fm_warm_pages *p, uint64_t i)
{
	uint64_t word;

	for (; i % 32 == 0 && i < p->n; i += 32) {
		memcpy(&word, p->level + i / 4, sizeof(word));
		if (word)
			break;
	}
	return i;
}

uint64_t fm_warm_next(const struct fm_warm_pages *p, uint64_t i,
		      unsigned level)
{
	for (; i < p->n; i++) {
		i = skip_nothing(p, i);
		if (i < p->n && fm_warm_level(p, i) >= level)
			return i;
	}
	return p->n;
}

#define EACH_PAGE(p, i)                                            \
	for (uint64_t i = fm_warm_next(p, 0, FM_HOT_PAST); i < (p)->n; \
	     i = fm_warm_next(p, i + 1, FM_HOT_PAST))

void fm_warm_count(const struct fm_warm_pages *p,
		   uint64_t ret[FM_HOT_LEVELS])
{
	memset(ret, 0, FM_HOT_LEVELS * sizeof(*ret));
	EACH_PAGE(p, i)
		ret[fm_warm_level(p, i)]++;
}

void fm_warm_merge(struct fm_warm_pages *to, const struct fm_warm_pages *from,
		   unsigned by)
{
	EACH_PAGE(from, i)
		if (fm_warm_level(from, i) > by)
			fm_warm_raise(to, i, fm_warm_level(from, i) - by);
}
