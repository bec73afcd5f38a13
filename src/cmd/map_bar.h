/* SPDX-License-Identifier: MIT */
/* map_bar.h - the parts of a file as characters. */
#pragma once

#include <stdint.h>

enum map_kind {
	MAP_DIRTY, MAP_CLEAN, MAP_KEPT, MAP_CACHED, MAP_OWN, MAP_KINDS
};

struct map_kind_text {
	const char *key;    /* in the engine's answer */
	char letter;
	const char *colour; /* SGR */
	const char *name, *meaning;
};
extern const struct map_kind_text map_kinds[MAP_KINDS];

/* What a part of so many pages is drawn as, from its pages by kind: dirty if
 * any page is, else the kind of most of its pages; *ret_kind is that kind. A
 * capital: this kind is at least half of the part. ' ': there is none. */
char map_bar_char(const uint64_t pages[MAP_KINDS], uint64_t size,
		  enum map_kind *ret_kind);
