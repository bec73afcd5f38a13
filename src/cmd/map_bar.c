/* SPDX-License-Identifier: MIT */
#include "map_bar.h"

#include <ctype.h>

const struct map_kind_text map_kinds[MAP_KINDS] = {
	[MAP_DIRTY] = { "dirty", 'd', "31", "dirty",
			"stored to, not yet written" },
	[MAP_CLEAN] = { "clean", 'r', "32", "resident", "clean" },
	[MAP_KEPT] = { "kept", 'k', "36", "kept",
		       "evicted but still in memory, or read ahead" },
	[MAP_CACHED] = { "page_cache", 'c', "33", "page cache",
			 "where the kernel serves" },
	[MAP_OWN] = { "own", 'o', "35", "own",
		      "the program's copies in private mappings" },
};

static enum map_kind map_bar_most(const uint64_t pages[MAP_KINDS])
{
	enum map_kind best = MAP_DIRTY;

	if (pages[MAP_DIRTY])
		return MAP_DIRTY;
	for (enum map_kind k = MAP_CLEAN; k < MAP_KINDS; k++)
		if (pages[k] > pages[best])
			best = k;
	return best;
}

char map_bar_char(const uint64_t pages[MAP_KINDS], uint64_t size,
		  enum map_kind *ret_kind)
{
	const enum map_kind k = map_bar_most(pages);
	const char c = map_kinds[k].letter;

	*ret_kind = k;
	if (!pages[k])
		return ' ';
	return pages[k] >= size - size / 2 ? (char)toupper(c) : c;
}
