/* SPDX-License-Identifier: MIT */
/* Sizes: a result only for what is one; globs: they end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "glob.h"
#include "policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512];
	uint64_t v = 7;
	char *half;
	int r;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	r = fm_parse_size(text, 1 << 20, &v);
	if (r ? v != 7 : text[0] < '0' || text[0] > '9')
		abort();
	if (!r && strchr(text, '%') && v > 1 << 20)
		abort();
	half = strchr(text, '\n');
	if (half) {
		*half++ = 0;
		/* A pattern without specials is itself. */
		if (fm_glob(text, half) && !strpbrk(text, "*?[\\") &&
		    strcmp(text, half))
			abort();
		fm_path_match(text, half);
	}
	return 0;
}
