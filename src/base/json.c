/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <string.h>

#include "sys.h"
#include "visible.h"

#define FIRST ((size_t)256 << 10) /* size: bytes, at first */

static void json_grow(struct fm_json *j, size_t need)
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

static void json_put(struct fm_json *j, const char *s, size_t n)
{
	if (j->len + n > j->size && !j->failed)
		json_grow(j, j->len + n);
	if (j->failed)
		return;
	memcpy(j->text + j->len, s, n);
	j->len += n;
}

static void json_put_char(struct fm_json *j, char c)
{
	json_put(j, &c, 1);
}

static void put_uint(struct fm_json *j, uint64_t v, int digits)
{
	char text[24];
	int n = 0;

	do
		text[sizeof(text) - (size_t)++n] = (char)('0' + v % 10);
	while ((v /= 10) || n < digits);
	json_put(j, text + sizeof(text) - (size_t)n, (size_t)n);
}

/* ---- text -------------------------------------------------------------- */

static void json_put_string(struct fm_json *j, const char *s)
{
	static const char hex[] = "0123456789abcdef";

	json_put_char(j, '"');
	while (*s) {
		const size_t n = fm_utf8(s);
		const bool shown = fm_utf8_shown(s, n);
		/* all that is not shown is below U+0100 */
		const unsigned char c = (unsigned char)s[n == 2];
		const char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4],
					 hex[c & 15] };

		if (*s == '"' || *s == '\\')
			json_put_char(j, '\\');
		if (n && !shown)
			json_put(j, escape, 6);
		else
			json_put(j, n ? s : "?", n ? n : 1);
		s += n ? n : 1;
	}
	json_put_char(j, '"');
}

/* ---- values ------------------------------------------------------------ */

static void new_line(struct fm_json *j)
{
	json_put_char(j, '\n');
	for (int i = 0; i < j->depth; i++)
		json_put_char(j, ' ');
}

static void json_begin(struct fm_json *j, const char *key)
{
	if (j->more)
		json_put_char(j, ',');
	if (j->depth)
		new_line(j);
	j->more = true;
	if (!key)
		return;
	json_put_string(j, key);
	json_put(j, ": ", 2);
}

void fm_json_open(struct fm_json *j, const char *key, char bracket)
{
	json_begin(j, key);
	json_put_char(j, bracket);
	j->depth++;
	j->more = false;
}

void fm_json_close(struct fm_json *j, char bracket)
{
	j->depth--;
	if (j->more)
		new_line(j);
	json_put_char(j, bracket);
	j->more = true;
}

void fm_json_uint(struct fm_json *j, const char *key, uint64_t v)
{
	json_begin(j, key);
	put_uint(j, v, 1);
}

void fm_json_bool(struct fm_json *j, const char *key, bool v)
{
	json_begin(j, key);
	json_put(j, v ? "true" : "false", v ? 4 : 5);
}

void fm_json_text(struct fm_json *j, const char *key, const char *s)
{
	json_begin(j, key);
	if (s)
		json_put_string(j, s);
	else
		json_put(j, "null", 4);
}

void fm_json_milli(struct fm_json *j, const char *key, uint64_t v)
{
	json_begin(j, key);
	put_uint(j, v / 1000, 1);
	json_put_char(j, '.');
	put_uint(j, v % 1000, 3);
}

void fm_json_raw(struct fm_json *j, const char *s)
{
	json_put(j, s, strlen(s));
}

void fm_json_raw_uint(struct fm_json *j, uint64_t v)
{
	put_uint(j, v, 1);
}

void fm_json_free(struct fm_json *j)
{
	if (j->text)
		fm_sys_munmap(j->text, j->size);
	memset(j, 0, sizeof(*j));
}
