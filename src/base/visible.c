/* SPDX-License-Identifier: MIT */
#include "visible.h"

#include "sys.h"

/* RFC 3629: neither longer than need be, nor a surrogate, nor beyond
 * U+10FFFF. */
FM_FAULT size_t fm_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
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

/* C0, DEL, and C1, which terminals obey as well. */
FM_FAULT bool fm_utf8_shown(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	return n && *s >= 0x20 && *s != 0x7f && (*s != 0xc2 || s[1] >= 0xa0);
}

FM_FAULT size_t fm_visible_next(const char **at, char ret[FM_VISIBLE_MOST])
{
	const unsigned char *s = (const unsigned char *)*at;
	const size_t n = fm_utf8(*at);

	if (!fm_utf8_shown(*at, n)) {
		ret[0] = '\\';
		ret[1] = 'x';
		ret[2] = "0123456789abcdef"[*s >> 4];
		ret[3] = "0123456789abcdef"[*s & 15];
		++*at;
		return 4;
	}
	for (size_t i = 0; i < n; i++)
		ret[i] = (*at)[i];
	*at += n;
	return n;
}

FM_FAULT size_t fm_visible(const char *text, bool lines, char *buf, size_t size)
{
	char one[FM_VISIBLE_MOST];
	size_t len = 0;

	while (*text) {
		size_t n = 1;

		if (lines && (*text == '\n' || *text == '\t'))
			one[0] = *text++;
		else
			n = fm_visible_next(&text, one);
		if (len + n >= size)
			break;
		for (size_t i = 0; i < n; i++)
			buf[len++] = one[i];
	}
	buf[len] = 0;
	return len;
}
