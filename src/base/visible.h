/* SPDX-License-Identifier: MIT */
/*
 * visible.h - text that somebody else has chosen (names of files and processes,
 * what a process answers), for a terminal or a log: control characters and what
 * is not UTF-8 become "\x1b". A name can neither move the cursor nor begin a
 * line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* [fault] The length of the well-formed UTF-8 sequence at text, or 0. Can
 * those n bytes be shown? */
size_t fm_utf8(const char *text);
bool fm_utf8_shown(const char *text, size_t n);
/* [fault] The next character of a string that is not at its end, as it is
 * shown, without a NUL. Returns its bytes. */
#define FM_VISIBLE_MOST 4
size_t fm_visible_next(const char **at, char ret[FM_VISIBLE_MOST]);
/* [fault] All that fits, as a string. `lines`: newlines and tabs stay.
 * Returns its length. */
size_t fm_visible(const char *text, bool lines, char *buf, size_t size);
