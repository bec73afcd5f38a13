/* SPDX-License-Identifier: MIT */
/* ranges.h - where the kernel serves a file, however many ranges that are.
 * Inside warm/ only. [any], and in the guardian. */
#pragma once

#include "advise/advise.h"

struct fm_warm_ranges {
	struct fm_krange *at; /* memory of its own; NULL: there are none */
	unsigned n;
};

/* `dead`: nobody else is alive in this memory, no lock is taken. */
struct fm_warm_ranges fm_warm_ranges_of(dev_t dev, ino_t ino, bool dead);
void fm_warm_ranges_free(struct fm_warm_ranges *r);
