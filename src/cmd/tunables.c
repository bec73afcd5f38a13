/* SPDX-License-Identifier: MIT */
/* tunables.c - fastmap options --tunables: the figures that the engine decides
 * by, for who works on it (CONTRIBUTING.md). */
#include "tunables.h"

#include <inttypes.h>
#include <stdio.h>

#include "meanings.h"

static const struct {
	const char *room, *unit, *reason, *measured;
} told[] = {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	{ #room, unit, reason, measured },
#include "tunables.def"
};

void print_tunables(void)
{
	for (unsigned i = 0; i < fm_tunable_count; i++) {
		const struct fm_tunable *t = &fm_tunables[i];

		printf("%s = %" PRIu64 " %s, %" PRIu64 " to %" PRIu64
		       " (src/%s)\n", t->name, fm_tunable_value(t),
		       told[i].unit, t->least, t->most, told[i].room);
		print_wrapped(0, 4, told[i].reason);
		print_wrapped(0, 4, told[i].measured);
	}
}
