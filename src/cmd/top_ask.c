/* SPDX-License-Identifier: MIT */
#include "top_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "live.h"

#define FIRST 65536
#define MOST ((size_t)256 << 20) /* no answer is that long */

void top_ask_end(struct top_ask *a)
{
	if (a->fd >= 0)
		close(a->fd);
	free(a->text);
	*a = (struct top_ask)TOP_ASK_NONE;
}

bool top_ask_begin(struct top_ask *a, int fd, const char *line)
{
	int err;

	a->fd = fd;
	a->len = 0;
	if (fd >= 0 && !live_send(fd, line))
		return true;
	err = errno;
	top_ask_end(a);
	errno = err;
	return false;
}

static bool grow(struct top_ask *a)
{
	const size_t size = a->size ? a->size * 2 : FIRST;
	char *text = size <= MOST ? realloc(a->text, size) : NULL;

	if (!text)
		return false;
	a->text = text;
	a->size = size;
	return true;
}

bool top_ask_take(struct top_ask *a)
{
	ssize_t n;

	do {
		if (a->len + 1 >= a->size && !grow(a))
			return true;
		n = read(a->fd, a->text + a->len, a->size - a->len - 1);
		a->len += n > 0 ? (size_t)n : 0;
		a->text[a->len] = 0;
	} while (n > 0);
	return n == 0 || (errno != EAGAIN && errno != EINTR);
}
