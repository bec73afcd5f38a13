/* SPDX-License-Identifier: MIT */
#include "shown.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wctype.h>

#include "base/visible.h"

#define LINE_COLUMNS 4096

/* ---- the terminal ------------------------------------------------------ */

bool shown_draws(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb");
}

unsigned shown_width(int fd, unsigned other)
{
	struct winsize w;

	return !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : other;
}

/* ---- characters -------------------------------------------------------- */

/* The next code point, or -1 for bytes that are not UTF-8. */
static long decode(const char **at)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const size_t n = fm_utf8(*at);
	long v = n ? (unsigned char)**at & mask[n] : -1;

	for (size_t i = 1; i < n; i++)
		v = v << 6 | ((*at)[i] & 0x3f);
	*at += n ? n : 1;
	return v;
}

/* The next character as it can be printed, and its columns. */
static wchar_t shown_next(const char **at, unsigned *ret_columns)
{
	const long v = decode(at);
	const int w = v > 0 && iswprint((wint_t)v) ? wcwidth((wchar_t)v) : -1;

	/* A combining character would be drawn over its neighbour. */
	*ret_columns = w > 0 ? (unsigned)w : 1;
	return w > 0 ? (wchar_t)v : L'?';
}

unsigned shown_columns(const char *text)
{
	unsigned n = 0, w;

	while (*text) {
		shown_next(&text, &w);
		n += w;
	}
	return n;
}

/* From `text` on, as much as fits. */
static unsigned shown_take(const char *text, unsigned columns, wchar_t **to)
{
	unsigned used = 0, w;

	while (*text) {
		const wchar_t c = shown_next(&text, &w);

		if (used + w > columns)
			break;
		*(*to)++ = c;
		used += w;
	}
	return used;
}

static void dots(unsigned n, wchar_t **to)
{
	while (n--)
		*(*to)++ = L'.';
}

unsigned shown_text(const char *text, unsigned columns, bool head, wchar_t *ret)
{
	unsigned all = shown_columns(text), used, w;
	const unsigned cut = all <= columns ? 0 : columns < 2 ? columns : 2;

	if (cut && !head) {
		dots(cut, &ret);
		for (; all > columns - cut; all -= w)
			shown_next(&text, &w);
	}
	used = cut + shown_take(text, columns - cut, &ret);
	if (cut && head)
		dots(cut, &ret);
	*ret = 0;
	return used;
}

void shown_print(const char *text)
{
	static wchar_t wide[LINE_COLUMNS + 1];

	shown_text(text, LINE_COLUMNS, false, wide);
	printf("%ls", wide);
}

void shown_lines(const char *text, FILE *out)
{
	const size_t size = strlen(text) * FM_VISIBLE_MOST + 1;
	char *shown = malloc(size);

	if (!shown)
		return;
	fm_visible(text, true, shown, size);
	fputs(shown, out);
	free(shown);
}

static void show_string(json_t *value)
{
	const char *text = json_string_value(value);
	const size_t size = strlen(text) * FM_VISIBLE_MOST + 1;
	char *shown = malloc(size);

	if (shown) {
		fm_visible(text, false, shown, size);
		json_string_set(value, shown);
	}
	free(shown);
}

json_t *shown_json(json_t *doc)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(doc))
		show_string(doc);
	json_array_foreach(doc, i, value)
		shown_json(value);
	json_object_foreach(doc, key, value)
		shown_json(value);
	return doc;
}

const char *shown_user(uid_t uid)
{
	static char number[16];
	const struct passwd *pw = getpwuid(uid);

	snprintf(number, sizeof(number), "%u", uid);
	return pw ? pw->pw_name : number;
}

/* ---- figures ----------------------------------------------------------- */

static const char *scaled(double n, double unit, const char *units, char *buf)
{
	/* What rounds to a whole unit is the next one's. */
	while (n >= unit - 0.5 && *units && units[1]) {
		n /= unit;
		units++;
	}
	snprintf(buf, SHOWN_NUMBER, n < 9.95 && *units != ' ' ? "%.1f%c" :
		 "%.0f%c", n, *units);
	buf[strcspn(buf, " ")] = 0;
	return buf;
}

const char *shown_bytes(uint64_t bytes, char *buf)
{
	return scaled((double)bytes, 1024, " KMGTPE", buf);
}

const char *shown_count(double n, char *buf)
{
	return scaled(n, 1000, " kMGTPE", buf);
}

const char *shown_time(double us, char *buf)
{
	if (us < 999.5)
		snprintf(buf, SHOWN_NUMBER, "%.0fus", us);
	else if (us < 999500)
		snprintf(buf, SHOWN_NUMBER, "%.*fms", us < 9950, us / 1e3);
	else
		snprintf(buf, SHOWN_NUMBER, "%.*fs", us < 9950000, us / 1e6);
	return buf;
}

struct shown shown_size(uint64_t bytes)
{
	struct shown t;

	shown_bytes(bytes, t.s);
	return t;
}

struct shown shown_uptime(double seconds)
{
	struct shown t;

	if (seconds < 120)
		snprintf(t.s, sizeof(t.s), "%.0fs", seconds);
	else if (seconds < 7200)
		snprintf(t.s, sizeof(t.s), "%.0fm", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(t.s, sizeof(t.s), "%.0fh", seconds / 3600);
	else
		snprintf(t.s, sizeof(t.s), "%.0fd", seconds / 86400);
	return t;
}
