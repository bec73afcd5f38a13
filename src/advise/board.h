/* SPDX-License-Identifier: MIT */
/*
 * board.h - what one process has found out about a file, for the others of a
 * family made by fork.
 *
 * Workers that are forked after the map read alike, and each of eight would
 * need eight times as long to see it. What is here is where an area begins, no
 * more: what it sees itself goes first. [any]
 */
#ifndef FM_BOARD_H
#define FM_BOARD_H

#include <sys/types.h>

#include "weigh.h"

/* Before the first fork. Without it each finds out for itself. */
void fm_board_start(void);

void fm_board_post(dev_t dev, ino_t ino, enum fm_advice advice);
/* FM_ADVICE_UNKNOWN: nothing is, or it is old. */
enum fm_advice fm_board_ask(dev_t dev, ino_t ino);

/* One of them has touched it here or there: how many such touches there were
 * since one has read in a row. */
unsigned fm_board_single(dev_t dev, ino_t ino);
void fm_board_row(dev_t dev, ino_t ino);

/*
 * In a child of fork: is a thread worth its while? It makes a fork and exec a
 * sixth longer, so not where those children of late whose 20 ms are over have
 * not lived that long, but for one a second.
 */
bool fm_board_child_starts(unsigned *ret_slot);
/* It has lived that long. */
void fm_board_child_lives(unsigned slot);

#endif
