/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <string.h>

#include "sys.h"

#define FIRST ((size_t)256 << 10)

static void grow(struct fm_json *j, size_t need)
{
	size_t size = j->size ? j->size : FIRST;
	char *text;

	while (size < need)
		size *= 2;
	text = fm_sys_anon(size);
	if (!text) {
		j->failed = true;
		return;
	}
	if (j->text) {
		memcpy(text, j->text, j->len);
		fm_sys_munmap(j->text, j->size);
	}
	j->text = text;
	j->size = size;
}

static void put(struct fm_json *j, const char *s, size_t n)
{
	if (j->len + n > j->size && !j->failed)
		grow(j, j->len + n);
	if (j->failed)
		return;
	memcpy(j->text + j->len, s, n);
	j->len += n;
}

static void put_char(struct fm_json *j, char c)
{
	put(j, &c, 1);
}

static void put_uint(struct fm_json *j, uint64_t v, int digits)
{
	char text[24];
	int n = 0;

	do
		text[sizeof(text) - (size_t)++n] = (char)('0' + v % 10);
	while ((v /= 10) || n < digits);
	put(j, text + sizeof(text) - (size_t)n, (size_t)n);
}

/* ---- text -------------------------------------------------------------- */

/* The length of the well-formed UTF-8 sequence at s, or 0 (RFC 3629: neither
 * longer than need be, nor a surrogate, nor beyond U+10FFFF). */
static size_t sequence(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high, n;
	} form[] = {
		{ 0x01, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t k = 0, n;

	while (k < sizeof(form) / sizeof(form[0]) &&
	       (*s < form[k].first || *s > form[k].last))
		k++;
	if (k == sizeof(form) / sizeof(form[0]))
		return 0;
	for (n = 1; n < form[k].n; n++)
		if (n == 1 ? s[1] < form[k].low || s[1] > form[k].high :
			     (s[n] & 0xc0) != 0x80)
			return 0;
	return n;
}

static void put_string(struct fm_json *j, const char *s)
{
	static const char hex[] = "0123456789abcdef";

	put_char(j, '"');
	while (*s) {
		const unsigned char c = (unsigned char)*s;
		size_t n = sequence((const unsigned char *)s);
		const char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4],
					 hex[c & 15] };

		if (c == '"' || c == '\\')
			put_char(j, '\\');
		if (c < 0x20)
			put(j, escape, 6);
		else
			put(j, n ? s : "?", n ? n : 1);
		s += n ? n : 1;
	}
	put_char(j, '"');
}

/* ---- values ------------------------------------------------------------ */

static void new_line(struct fm_json *j)
{
	put_char(j, '\n');
	for (int i = 0; i < j->depth; i++)
		put_char(j, ' ');
}

static void begin(struct fm_json *j, const char *key)
{
	if (j->more)
		put_char(j, ',');
	if (j->depth)
		new_line(j);
	j->more = true;
	if (!key)
		return;
	put_string(j, key);
	put(j, ": ", 2);
}

void fm_json_open(struct fm_json *j, const char *key, char bracket)
{
	begin(j, key);
	put_char(j, bracket);
	j->depth++;
	j->more = false;
}

void fm_json_close(struct fm_json *j, char bracket)
{
	j->depth--;
	if (j->more)
		new_line(j);
	put_char(j, bracket);
	j->more = true;
}

void fm_json_uint(struct fm_json *j, const char *key, uint64_t v)
{
	begin(j, key);
	put_uint(j, v, 1);
}

void fm_json_bool(struct fm_json *j, const char *key, bool v)
{
	begin(j, key);
	put(j, v ? "true" : "false", v ? 4 : 5);
}

void fm_json_text(struct fm_json *j, const char *key, const char *s)
{
	begin(j, key);
	if (s)
		put_string(j, s);
	else
		put(j, "null", 4);
}

void fm_json_milli(struct fm_json *j, const char *key, uint64_t v)
{
	begin(j, key);
	put_uint(j, v / 1000, 1);
	put_char(j, '.');
	put_uint(j, v % 1000, 3);
}

void fm_json_raw(struct fm_json *j, const char *s)
{
	put(j, s, strlen(s));
}

void fm_json_free(struct fm_json *j)
{
	if (j->text)
		fm_sys_munmap(j->text, j->size);
	memset(j, 0, sizeof(*j));
}
