/* SPDX-License-Identifier: MIT */
/*
 * family.h - what the processes of a family made by fork have seen of a file,
 * together, and how long its children live.
 *
 * Workers that are forked after the map read alike, and each of eight would
 * need eight times as long to be sure. [any]
 */
#pragma once

#include <sys/types.h>

#include "advice_cost.h"

/* Before the first fork: the engine does it, and who advises. Without it each
 * finds out for itself. */
void fm_family_start(void);

/* MADV_NORMAL has cost so many ns more in this process, of a file. Returns how
 * all of them lean (advice_cost.h). */
int64_t fm_family_lean(dev_t dev, ino_t ino, int64_t more, int64_t most);
/* So much from now on. */
void fm_family_leans(dev_t dev, ino_t ino, int64_t lean);

/*
 * In a child of fork: is a thread worth its while? It makes a fork and exec a
 * sixth longer, so not where those children of late whose 20 ms are over have
 * not lived that long, but for one a second.
 */
bool fm_family_child_starts(unsigned *ret_slot);
/* It has lived that long. */
void fm_family_child_lives(unsigned slot);
