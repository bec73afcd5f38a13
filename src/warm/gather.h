/* SPDX-License-Identifier: MIT */
/* gather.h - which pages of a file are hot now. Inside warm/ only. [any], and
 * in the guardian. */
#pragma once

#include "record.h"

/* Where to look: mappings in [start, end). `dead`: nobody else is alive in this
 * memory, no lock is taken. */
struct fm_warm_where {
	uintptr_t start, end;
	bool dead;
};

/* Raises in p what is hot of the file of r, by either server. */
void fm_warm_gather(const struct fm_warm_record *r,
		    const struct fm_warm_where *w, struct fm_warm_pages *p);
