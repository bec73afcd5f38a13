/* SPDX-License-Identifier: MIT */
/*
 * json.h - a JSON document as text, written from its beginning to its end. No
 * allocator, stdio or locale: the guardian writes statistics, too. All [plain].
 *
 * A key is NULL in an array and for the outermost object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_json {
	char *text; /* anonymous memory */
	size_t len, size;
	int depth;
	bool more;   /* something stands before, at this depth */
	bool failed; /* no memory */
};

void fm_json_open(struct fm_json *j, const char *key, char bracket);
void fm_json_close(struct fm_json *j, char bracket);

void fm_json_uint(struct fm_json *j, const char *key, uint64_t v);
void fm_json_bool(struct fm_json *j, const char *key, bool v);
/* File names are bytes, JSON is UTF-8: a byte that is not UTF-8 becomes '?'. s
 * NULL: null. */
void fm_json_text(struct fm_json *j, const char *key, const char *s);
/* v thousandths, as a number with three decimals. */
void fm_json_milli(struct fm_json *j, const char *key, uint64_t v);
/* Text that is no JSON, as it is. */
void fm_json_raw(struct fm_json *j, const char *s);
void fm_json_raw_uint(struct fm_json *j, uint64_t v);

void fm_json_free(struct fm_json *j);
