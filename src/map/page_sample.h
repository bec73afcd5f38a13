/* SPDX-License-Identifier: MIT */
/*
 * page_sample.h - which pages of a mapping, here and there, are in memory,
 * whoever serves them: engine or kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_PAGE_SAMPLES 1024u /* size: pages, 0.3 ms to look at */

struct fm_page_sample {
	uint64_t there[FM_PAGE_SAMPLES / 64];
	/* looked at; of these not in memory; that were not at the last look */
	unsigned n, missing, came;
};

/* [any] Is the page there, engine's or kernel's? Where the kernel does not tell
 * it is. */
bool fm_in_memory(uintptr_t page);
/* [any] So many of n pages are, one after the other, from the first on (or the
 * last). */
uint64_t fm_pages_in_memory(uintptr_t start, uint64_t n, bool from_end);
/* [any] Looks at `most` of so many pages, FM_PAGE_SAMPLES at most. `again`:
 * they are those of the last look, else none has come. */
void fm_page_sample_look(struct fm_page_sample *s, uintptr_t start,
			 uint64_t pages, unsigned most, bool again);
