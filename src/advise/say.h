/* SPDX-License-Identifier: MIT */
/* say.h - advice is given: neighbours with the same are one call, and one VMA.
 * [plain] */
#pragma once

#include "advised.h"

/* Of segment k. */
typedef enum fm_advice (*fm_wanted_fn)(const struct fm_advised_all *all,
				       const struct fm_advised *a, unsigned k);

/* What is wanted of each segment. folios: what has been read in large pieces
 * leaves where it becomes MADV_RANDOM and may be stored to. -errno: the kernel
 * refuses to be advised. */
int fm_say(const struct fm_advised_all *all, struct fm_advised *a,
	   fm_wanted_fn wanted, bool folios);
/* Where streams are about to come it is read 4 MiB at a time. */
void fm_say_huge(struct fm_advised_all *all);
/* This kernel can do that, as far as is known. */
bool fm_say_may_be_huge(void);
