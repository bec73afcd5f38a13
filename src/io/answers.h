/* SPDX-License-Identifier: MIT */
/* answers.h - since when what a file's bytes come from has not answered. */
#pragma once

#include <stdint.h>

struct fm_file;
struct fm_io;

/* [fault] io is asked for; and has been answered. What is asked for once more,
 * of another ring, counts once. */
void fm_answers_begin(struct fm_io *io);
void fm_answers_end(struct fm_io *io);

/* [fault] Milliseconds in which a transfer of f was under way and none has
 * ended. 0: none is. */
uint64_t fm_answers_silent_ms(const struct fm_file *f);
