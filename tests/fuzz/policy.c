/* SPDX-License-Identifier: MIT */
/* Any bytes as a policy file: no crash, no leak of a bad value. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "fuzz.h"
#include "set.h"

static void check(const struct fm_policy *p)
{
	uint32_t b = p->block_size;

	if (b && (b < 4096 || b > 8 << 20 || (b & (b - 1))))
		abort();
	if (p->wb_high > 90 || p->io > FM_IO_BUFFERED ||
	    p->warm > FM_WARM_ENGINE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* One arena for all rounds would grow without end. */
	static char memory[1 << 20];
	const struct fm_who who = { "prog", "/usr/bin/prog" };
	struct fm_set set;
	char *text;

	if (size > 16384)
		return 0;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	memset(&set, 0, sizeof(set));
	memset(memory, 0, sizeof(memory));
	set.arena = (struct fm_arena){ memory, sizeof(memory), NULL };
	atomic_store(&fm_log_level, -1);
	fm_options_default(&set);
	fm_parse_text(&set, "fuzz", text, &who, NULL);
	check(&set.defaults);
	for (struct fm_section *s = set.sections; s; s = s->next)
		check(&s->policy);
	free(text);
	return 0;
}
