/* SPDX-License-Identifier: MIT */
/* Any bytes as a state file: no crash, and no page beyond the file. The
 * checksum is set right, or nothing behind it would ever be looked at. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "warm/state.h"

#define PAGES 3000

/* What was read, written once more, is read the same. */
static void again(const struct fm_warm_head *h, struct fm_warm_pages *p)
{
	uint8_t *buf = malloc(fm_warm_state_room(h, p));
	const size_t len = fm_warm_state_write(h, p, buf);
	struct fm_warm_head read;
	struct fm_warm_pages q;

	if (fm_warm_pages_make(&q, PAGES) ||
	    fm_warm_state_head(buf, len, &read) ||
	    fm_warm_state_pages(&read, buf, len, &q))
		abort();
	for (uint64_t i = 0; i < PAGES; i++)
		if (fm_warm_level(p, i) != fm_warm_level(&q, i))
			abort();
	fm_warm_pages_free(&q);
	free(buf);
}

static void look(uint8_t *bytes, size_t size)
{
	struct fm_warm_pages p;
	struct fm_warm_head h;
	bool good;

	fm_warm_state_seal(bytes, size);
	if (fm_warm_state_head(bytes, size, &h) ||
	    fm_warm_pages_make(&p, PAGES))
		return;
	if (h.path_len >= FM_WARM_PATH)
		abort();
	good = !fm_warm_state_pages(&h, bytes, size, &p);
	if (good)
		again(&h, &p);
	fm_warm_pages_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1); /* no byte more */
	struct fm_warm_head h;

	if (size)
		memcpy(bytes, data, size);
	fm_warm_state_head(bytes, size, &h);
	look(bytes, size);
	free(bytes);
	return 0;
}
