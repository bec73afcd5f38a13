/* SPDX-License-Identifier: MIT */
/*
 * vma_advice.h - what the program has said of parts of a mapping that concerns
 * the kernel's mapping, too: how it is read, whether it is dumped, merged, or
 * made huge.
 *
 * Our memory is of another kind and takes none of it. It is kept beside the
 * mode bytes, by ranges, so that it is cut, moved and forgotten with them, and
 * is said again to the kernel's mapping when that takes the place of ours
 * (fm_demote_lay). All [any], under the space lock.
 */
#pragma once

#include "base/types.h"
#include "base/up.h"

struct fm_vma_advice_range {
	uint64_t first, stop; /* pages, as the mode bytes are counted */
	uint8_t what;
};

/* Ascending, none of which nothing is said, neighbours differ. */
struct fm_said {
	struct fm_vma_advice_range *v;
	size_t n, room;
};

/* The program has given advice on pages [first, stop). 0 or -ENOMEM. */
int fm_vma_advice_note(struct fm_said *s, uint64_t first, uint64_t stop,
		       int advice);
/* Pages [first, stop) are new, and one with page `like` of `from` (s, or
 * another). */
void fm_vma_advice_grow(struct fm_said *s, uint64_t first, uint64_t stop,
		  const struct fm_said *from, uint64_t like);
/* [plain] For who keeps what is said of mappings of the kernel. */
FM_UPCALL(void, vma_advice_told, const void *at, size_t len, int advice);
/* Say it to the kernel: page `first` lies at address `at` now, and so on up to
 * page `stop`. */
void fm_vma_advice_tell(const struct fm_said *s, uint64_t first, uint64_t stop,
			char *at);
void fm_vma_advice_free(struct fm_said *s);
