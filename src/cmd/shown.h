/* SPDX-License-Identifier: MIT */
/*
 * shown.h - text and figures for people. Paths and names come from other
 * processes: what the locale cannot print, control characters above all,
 * becomes '?'.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <wchar.h>

/* Is it a terminal, and one that knows escape sequences? How many columns it
 * has, or `other` where it is none. */
bool shown_draws(int fd);
unsigned shown_width(int fd, unsigned other);

/* The part of `text` (UTF-8) that fits into so many columns, as a string of at
 * most `columns` wide characters and a NUL. Of what is too long the beginning
 * is left out, or with `head` the end; ".." stands there. Returns the columns
 * used. */
unsigned shown_text(const char *text, unsigned columns, bool head,
		    wchar_t *ret);
/* How many columns all of it takes. */
unsigned shown_columns(const char *text);
/* All of it (of 4096 columns the end) to stdout. */
void shown_print(const char *text);

/* What a process has answered, in lines. */
void shown_lines(const char *text, FILE *out);
/* The document of a process, with all its strings as they can be shown; NULL of
 * NULL. */
json_t *shown_json(json_t *doc);

/* The name of a user, or his number. */
const char *shown_user(uid_t uid);

/* "0", "4.0K", "512M": at most 5 characters; a number without a unit: "312",
 * "4.1k", "25M". */
#define SHOWN_NUMBER 16
const char *shown_bytes(uint64_t bytes, char *buf);
const char *shown_count(double n, char *buf);
/* "98us", "15ms", "1.2s" */
const char *shown_time(double us, char *buf);

/* The same for several in one call: bytes; "45s", "12m", "3h" or "9d" of
 * seconds. */
struct shown {
	char s[SHOWN_NUMBER];
};
struct shown shown_size(uint64_t bytes);
struct shown shown_uptime(double seconds);
