/* SPDX-License-Identifier: MIT */
/* say.c - a line on stderr, without stdio. */
#include "heap.h"

#include <string.h>

#include "base/sys.h"

struct line {
	char text[400];
	size_t n;
};

static void say_add(struct line *l, const char *text)
{
	size_t n = strlen(text);

	if (n > sizeof(l->text) - 1 - l->n)
		n = sizeof(l->text) - 1 - l->n;
	memcpy(l->text + l->n, text, n);
	l->n += n;
}

static void say_number(struct line *l, unsigned n)
{
	char digits[12];
	char *p = digits + sizeof(digits) - 1;

	*p = 0;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	say_add(l, p);
}

void heap_say(const char *text, const char *more, int err)
{
	struct line l = { .n = 0 };

	say_add(&l, "fastmap: heap: ");
	say_add(&l, text);
	say_add(&l, more);
	if (err) {
		say_add(&l, ", errno ");
		say_number(&l, (unsigned)-err);
	}
	l.text[l.n++] = '\n';
	fm_sys3(SYS_write, 2, l.text, l.n);
}
