/* SPDX-License-Identifier: MIT */
#include "page_sample.h"

#include "base/sys.h"
#include "base/types.h"

bool fm_in_memory(uintptr_t page)
{
	unsigned char vec = 1;

	fm_sys3(SYS_mincore, page, FM_PAGE, &vec);
	return vec & 1;
}

#define MANY 512u /* size: pages that are asked for in one call */

/* Pages of [start, start + n) before the first that is not, or from the end. */
static uint64_t present_from(uintptr_t start, uint64_t n, bool from_end)
{
	unsigned char there[MANY];
	uint64_t k = 0;

	if (fm_sys3(SYS_mincore, start, n << FM_PAGE_SHIFT, there))
		return n;
	while (k < n && there[from_end ? n - 1 - k : k] & 1)
		k++;
	return k;
}

uint64_t fm_pages_in_memory(uintptr_t start, uint64_t n, bool from_end)
{
	uint64_t all = 0;

	while (all < n) {
		const uint64_t most = fm_least(n - all, MANY);
		const uint64_t at = from_end ? n - all - most : all;
		const uint64_t got = present_from(start + (at << FM_PAGE_SHIFT),
					     most, from_end);

		all += got;
		if (got < most)
			break;
	}
	return all;
}

void fm_page_sample_look(struct fm_page_sample *s, uintptr_t start,
			 uint64_t pages, unsigned most, bool again)
{
	const uint64_t step = pages / most + 1;

	s->n = s->missing = s->came = 0;
	for (uint64_t p = 0; p < pages && s->n < most; p += step) {
		const uint64_t bit = 1ull << s->n % 64;
		uint64_t *word = &s->there[s->n++ / 64];
		const bool is = fm_in_memory(start + (p << FM_PAGE_SHIFT));

		s->came += again && is && !(*word & bit);
		s->missing += !is;
		*word = is ? *word | bit : *word & ~bit;
	}
}
