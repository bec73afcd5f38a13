/* SPDX-License-Identifier: MIT */
/*
 * unmap_loss.h - what takes the engine time and the kernel none, weighed
 * (serve/again.h): what is lost by an unmap, and the page cache would keep
 * (cache/unmapped.h), room for stores to holes (file/load.h), and words to
 * others (peers/peers_words.c). All [plain],
 * under the space lock.
 */
#pragma once

struct fm_file;
struct fm_map;

/* m is hidden, its pages are locked, and what they hold is about to go. */
void fm_unmap_loses(struct fm_map *m);
/* A mapping of f has gone. Once what was lost so and loaded again has taken as
 * long as a change would, the kernel gets the file. */
void fm_unmap_weigh(struct fm_file *f);
/* The same, once a second, of what it took to ask for the blocks of holes: the
 * kernel does that when it writes. */
void fm_holes_weigh(struct fm_file *f);
/* The same of what was written before word went out. */
void fm_words_weigh(struct fm_file *f);
