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
