/* SPDX-License-Identifier: MIT */
/* top_ask.h - a question to a control socket that nobody waits for. */
#ifndef FM_CMD_TOP_ASK_H
#define FM_CMD_TOP_ASK_H

#include <stdbool.h>
#include <stddef.h>

struct top_ask {
	int fd;      /* -1: nothing is asked */
	char *text;  /* what has come of the answer, with a NUL */
	size_t len, size;
};
#define TOP_ASK_NONE { .fd = -1 }

/* `fd`: of live_connect, without waiting; it is closed by top_ask_end. The line
 * has no newline. False and errno: it was not asked. */
bool top_ask_begin(struct top_ask *a, int fd, const char *line);
/* Read what is there. True: that was all of it. */
bool top_ask_take(struct top_ask *a);
void top_ask_end(struct top_ask *a);

#endif
