/* SPDX-License-Identifier: MIT */
/* size.c - "4096", "64K", "1GiB", "50%". */
#include "policy.h"

#include <errno.h>

#include "base/text.h"

static int shift_of(char c)
{
	switch (c | 0x20) {
	case 'k':
		return 10;
	case 'm':
		return 20;
	case 'g':
		return 30;
	case 't':
		return 40;
	}
	return -1;
}

/* What follows the digits: nothing, "%", "B", or K, M, G, T with an optional
 * "B" or "iB". */
static int apply_suffix(const char *s, uint64_t whole, uint64_t *v)
{
	int shift;

	if (s[0] == '%' && !s[1]) {
		if (*v > 100)
			return -ERANGE;
		*v = whole / 100 * *v + whole % 100 * *v / 100;
		return 0;
	}
	shift = shift_of(*s);
	if (shift > 0) {
		if (*v > UINT64_MAX >> shift)
			return -ERANGE;
		*v <<= shift;
		s++;
		if (s[0] == 'i' && s[1] == 'B')
			s++;
	}
	if (*s == 'B')
		s++;
	return *s ? -EINVAL : 0;
}

int fm_parse_size(const char *s, uint64_t whole, uint64_t *ret)
{
	uint64_t v = 0;
	const char *end = fm_number(s, &v);
	int r;

	if (!end)
		return *s < '0' || *s > '9' ? -EINVAL : -ERANGE;
	r = apply_suffix(end, whole, &v);
	if (!r)
		*ret = v;
	return r;
}
