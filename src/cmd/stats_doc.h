/* SPDX-License-Identifier: MIT */
/* live_table.h - statistics of running processes as lines of text. */
#ifndef FM_CMD_LIVE_TABLE_H
#define FM_CMD_LIVE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "1.5G" of bytes; "45s", "12m", "3h" or "9d" of seconds. */
struct live_text {
	char s[24];
};
struct live_text live_size(uint64_t bytes);
struct live_text live_time(double seconds);

/* o[key], or 0, "" where there is none. */
uint64_t live_uint(const json_t *o, const char *key);
double live_real(const json_t *o, const char *key);
const char *live_string(const json_t *o, const char *key);

/* Who serves a file of the statistics ("engine", "advised", "kernel"), and the
 * reason where it is not the engine. `file` is of "files" or of
 * "left_to_kernel". */
const char *live_server(const json_t *stats, const json_t *file);
const char *live_why(const json_t *file);
/* How many files are served so. */
unsigned live_count(const json_t *stats, const char *server);
/* What of "files" is mapped now, and then "left_to_kernel"; NULL: no more. */
json_t *live_file(const json_t *stats, size_t i);

#endif
