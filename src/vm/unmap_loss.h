/* SPDX-License-Identifier: MIT */
/*
 * unmap_loss.h - what the engine loses by an unmap, and the page cache would
 * keep: remembered (cache/unmapped.h) and weighed (serve/again.h). All [plain],
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
