/* SPDX-License-Identifier: MIT */
/* range.c - what may be given for an option, as text, and the pieces of such
 * text. */
#include <string.h>

#include "set.h"

/* At the end of buf, cut where that ends. */
void fm_text_add(char *buf, size_t size, const char *s)
{
	size_t n = strlen(buf);

	while (*s && n + 1 < size)
		buf[n++] = *s++;
	buf[n] = 0;
}

void fm_text_add_number(char *buf, size_t size, uint64_t v, bool bytes)
{
	const char *unit = "";
	char digits[32];
	int n = sizeof(digits) - 1;

	for (const char *u = "KMGT"; bytes && v && v % 1024 == 0 && *u; u++) {
		v /= 1024;
		unit = u;
	}
	digits[n] = 0;
	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	fm_text_add(buf, size, digits + n);
	if (*unit)
		fm_text_add(buf, size, (const char[]){ *unit, 0 });
}

static const char *besides(const struct fm_option *o)
{
	switch (o->type) {
	case T_MEMORY:
		return ", 1% to 100%, or auto";
	case T_PART:
		return ", or 0% to 100%";
	case T_SIZE_AUTO:
		return ", or auto";
	case T_PIN:
		return ", or minute";
	case T_POW2:
		return ", a power of two, or 0";
	default:
		return "";
	}
}

void fm_option_range(const struct fm_option *o, char *ret, size_t size)
{
	const bool bytes = o->type != T_U32 && o->type != T_LEVEL;

	*ret = 0;
	if (o->choices || o->type == T_BOOL) {
		fm_text_add(ret, size, o->choices ? o->choices : "yes or no");
		return;
	}
	if (o->max == UINT64_MAX) {
		fm_text_add(ret, size, "bytes, or with K, M, G, T");
	} else {
		fm_text_add_number(ret, size, o->min, bytes);
		fm_text_add(ret, size, " to ");
		fm_text_add_number(ret, size, o->max, bytes);
	}
	fm_text_add(ret, size, besides(o));
}
