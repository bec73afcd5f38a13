/* SPDX-License-Identifier: MIT */
#include "plocks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ring.h"
#include "sys.h"

#define LATER 256 /* more are never closed */

static struct {
	ino_t ino;
	int fd;
} later[LATER];
static unsigned nlater;

static bool line_names(const char *line, ino_t ino)
{
	unsigned long n;

	return sscanf(line, "%*d: POSIX %*s %*s %*d %*x:%*x:%lu", &n) == 1 &&
	       n == ino;
}

/* All lines of the text that are whole. Returns how much of it they are. */
static size_t look(char *text, size_t len, ino_t ino, bool *ret_held)
{
	char *line = text, *end;

	while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = 0;
		*ret_held |= line_names(line, ino);
		line = end + 1;
	}
	return (size_t)(line - text);
}

bool fm_plocks_held(ino_t ino)
{
	int fd = fm_sys_open("/proc/locks", O_RDONLY | O_CLOEXEC, 0);
	char text[4096];
	size_t have = 0, done;
	bool held = false;
	long n;

	while (fd >= 0 && !held && have < sizeof(text) &&
	       (n = fm_sys3(SYS_read, fd, text + have,
			    sizeof(text) - have)) > 0) {
		have += (size_t)n;
		done = look(text, have, ino, &held);
		have -= done;
		memmove(text, text + done, have);
	}
	if (fd >= 0)
		fm_sys_close(fd);
	return held;
}

static void close_unlocked(void)
{
	unsigned n = 0;

	for (unsigned k = 0; k < nlater; k++)
		if (fm_plocks_held(later[k].ino))
			later[n++] = later[k];
		else
			fm_fd_drop(later[k].fd);
	nlater = n;
}

void fm_plocks_close(ino_t ino, int fd)
{
	if (nlater)
		close_unlocked();
	if (fd < 0)
		return;
	if (!fm_plocks_held(ino)) {
		fm_fd_drop(fd);
	} else if (nlater < LATER) {
		later[nlater].ino = ino;
		later[nlater++].fd = fd;
	}
}
