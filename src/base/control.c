/* SPDX-License-Identifier: MIT */
/* control.c - the table of commands, and how they answer. */
#include "control.h"

#include <string.h>
#include <sys/socket.h>

#include "fds.h"
#include "log.h"
#include "sys.h"
#include "text.h"

#define TELL_MS 100

/* ---- the line ---------------------------------------------------------- */

static char *without_spaces(char *s)
{
	size_t n;

	while (*s == ' ')
		s++;
	n = strlen(s);
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\r'))
		s[--n] = 0;
	return s;
}

const struct fm_control *fm_control_parse(char *line, struct fm_request *r)
{
	size_t n;

	line = without_spaces(line);
	n = strcspn(line, " ");
	FM_UP_EACH(control, c)
		if (strlen(c->word) == n && !memcmp(c->word, line, n)) {
			r->args = without_spaces(line + n);
			return c;
		}
	return NULL;
}

const struct fm_control *fm_control_next(const struct fm_control *at)
{
	const struct fm_control *next = NULL;

	FM_UP_EACH(control, c)
		if ((!at || strcmp(c->word, at->word) > 0) &&
		    (!next || strcmp(c->word, next->word) < 0))
			next = c;
	return next;
}

/* ---- ranges ------------------------------------------------------------ */

/* Of a number and a space behind it; NULL: something else. */
static char *control_number(char *s, uint64_t *ret)
{
	const char *end = fm_number(s, ret);

	return end && *end == ' ' ? without_spaces(s + (end - s)) : NULL;
}

bool fm_request_part(struct fm_request *r, struct fm_file_part *ret)
{
	struct fm_file_part got = { r->args, 0, UINT64_MAX };

	if (*got.path != '/') {
		got.path = control_number(got.path, &got.off);
		if (got.path)
			got.path = control_number(got.path, &got.len);
	}
	got.len = fm_least(got.len, UINT64_MAX - got.off);
	if (!got.path || *got.path != '/' || !got.len) {
		fm_answer_error(r, "wanted: [OFFSET LENGTH] /PATH, in bytes");
		return false;
	}
	*ret = got;
	return true;
}

/* ---- answers ----------------------------------------------------------- */

/* The whole answer: what was put together before it is not. */
static void put_line(struct fm_request *r, const char *first, const char *fmt,
		     va_list ap)
{
	char text[FM_CONTROL_LINE + 256];

	fm_format(text, sizeof(text), fmt, ap);
	fm_json_free(&r->answer);
	fm_json_raw(&r->answer, first);
	fm_json_raw(&r->answer, *text ? " " : "");
	fm_json_raw(&r->answer, text);
	fm_json_raw(&r->answer, "\n");
}

void fm_answer_ok(struct fm_request *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(r, "ok", fmt, ap);
	va_end(ap);
}

void fm_answer_error(struct fm_request *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(r, "error:", fmt, ap);
	va_end(ap);
}

/* A client that does not read misses lines, and nobody waits for it. */
static bool control_tell(int fd, const char *text, size_t n)
{
	long sent;

	if (!fm_fd_still_ours(fd))
		return false;
	sent = fm_sys6(SYS_sendto, fd, (long)text, (long)n,
		       MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	return sent >= 0 || sent == -EAGAIN || sent == -EINTR;
}

static size_t progress_line(char *buf, size_t size, const char *fmt, ...)
{
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	n = fm_format(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

bool fm_answer_progress(struct fm_request *r, uint64_t done, uint64_t total)
{
	const uint64_t now = fm_now_ms();
	char text[64];
	size_t n;

	if (r->fd < 0 || r->left || now < r->told_ms + TELL_MS)
		return !r->left;
	r->told_ms = now;
	n = progress_line(text, sizeof(text), "progress %lu %lu\n",
			  (unsigned long)done, (unsigned long)total);
	r->left = !control_tell(r->fd, text, n);
	return !r->left;
}
