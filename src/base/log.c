/* SPDX-License-Identifier: MIT */
/*
 * log.c - the formatter formats into a buffer on the stack and writes once,
 * so a line is whole even when threads log together. No locale, no
 * allocation, no stdio: usable in the fault handler and in the guardian.
 */
#include "log.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sys.h"
#include "visible.h"

#define LINE 512

_Atomic int fm_log_level = FM_LOG_WARN;

static struct {
	bool started;
	dev_t dev; /* both 0 when it was closed */
	ino_t ino;
	int run; /* see fm_log_start */
} first_stderr;

void fm_log_start(int run)
{
	struct stat st;

	first_stderr.started = true;
	first_stderr.run = run;
	if (fm_sys_fstat(2, &st) < 0)
		return;
	first_stderr.dev = st.st_dev;
	first_stderr.ino = st.st_ino;
}

/* Redirected to a terminal or a log file (which is appended to: what is only
 * written may be anybody's data) meanwhile is fine. */
FM_FAULT static bool stderr_is_text(void)
{
	struct stat st;

	if (fm_sys_fstat(2, &st) < 0)
		return false;
	if (!first_stderr.started ||
	    (st.st_dev == first_stderr.dev && st.st_ino == first_stderr.ino) ||
	    S_ISCHR(st.st_mode))
		return true;
	return S_ISREG(st.st_mode) &&
	       (fm_sys3(SYS_fcntl, 2, F_GETFL, 0) & (O_ACCMODE | O_APPEND)) ==
		       (O_WRONLY | O_APPEND);
}

struct line {
	char *text;
	size_t len, size;
};

/* Keeps the last byte for the newline, or the terminator. */
FM_FAULT static void log_put(struct line *l, char c)
{
	if (l->len < l->size - 1)
		l->text[l->len++] = c;
}

FM_FAULT static void put_str(struct line *l, const char *s)
{
	while (*s)
		log_put(l, *s++);
}

/* What a file or a process is called begins no line, and is whole or not
 * there. */
FM_FAULT static void put_visible(struct line *l, const char *s)
{
	char one[FM_VISIBLE_MOST];

	while (s && *s) {
		const size_t n = fm_visible_next(&s, one);

		if (l->len + n >= l->size)
			return;
		for (size_t i = 0; i < n; i++)
			log_put(l, one[i]);
	}
	if (!s)
		put_str(l, "(null)");
}

FM_FAULT static void put_num(struct line *l, unsigned long v, unsigned base)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		log_put(l, digits[--n]);
}

FM_FAULT static void put_signed(struct line *l, long v)
{
	if (v < 0)
		log_put(l, '-');
	put_num(l, v < 0 ? -(unsigned long)v : (unsigned long)v, 10);
}

/* One conversion; `f` points behind the percent sign. Returns its end. */
FM_FAULT static const char *convert(struct line *l, const char *f, va_list *ap)
{
	bool wide = *f == 'l' || *f == 'z';

	if (wide)
		f++;
	switch (*f) {
	case 's':
		put_visible(l, va_arg(*ap, const char *));
		break;
	case 'd':
		put_signed(l, wide ? va_arg(*ap, long) : va_arg(*ap, int));
		break;
	case 'u':
		put_num(l, wide ? va_arg(*ap, unsigned long) :
				  va_arg(*ap, unsigned), 10);
		break;
	case 'x':
		put_num(l, wide ? va_arg(*ap, unsigned long) :
				  va_arg(*ap, unsigned), 16);
		break;
	case 'p':
		put_str(l, "0x");
		put_num(l, (unsigned long)va_arg(*ap, void *), 16);
		break;
	case 'c':
		log_put(l, (char)va_arg(*ap, int));
		break;
	case '\0':
		return f;
	default:
		log_put(l, *f);
		break;
	}
	return f + 1;
}

/* A va_list that is a parameter has no address of its own type. */
FM_FAULT static void put_format(struct line *l, const char *fmt, va_list from)
{
	va_list ap;

	va_copy(ap, from);
	while (*fmt) {
		if (*fmt == '%')
			fmt = convert(l, fmt + 1, &ap);
		else
			log_put(l, *fmt++);
	}
	va_end(ap);
}

size_t fm_format(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct line l = { .text = buf, .size = size };

	put_format(&l, fmt, ap);
	l.text[l.len] = 0;
	return l.len;
}

/* The last lines, also those that nobody has asked for: for who looks into the
 * core of a program that has died (gdb: print fm_log_last). */
#define LAST 64
#define LAST_LINE 120

extern struct fm_log_last {
	_Atomic uint32_t n; /* the newest has this number, modulo LAST */
	struct {
		uint64_t ms; /* as CLOCK_MONOTONIC counts */
		char text[LAST_LINE];
	} line[LAST];
} fm_log_last;
struct fm_log_last fm_log_last;

FM_FAULT static void keep_line(const struct line *l)
{
	const uint32_t n = atomic_fetch_add(&fm_log_last.n, 1) + 1;
	const size_t len = l->len < LAST_LINE ? l->len : LAST_LINE - 1;

	fm_log_last.line[n % LAST].ms = fm_now_ms();
	memcpy(fm_log_last.line[n % LAST].text, l->text, len);
	fm_log_last.line[n % LAST].text[len] = 0;
}

/* ---- who looks at it --------------------------------------------------- */

FM_FAULT bool fm_stderr_is_terminal(void)
{
	char settings[64]; /* struct termios, the kernel's */

	return !fm_sys_ioctl(2, TCGETS, settings);
}

int fm_log_run(void)
{
	return first_stderr.run;
}

FM_FAULT bool fm_stderr_is_of(int pid)
{
	struct stat ours, theirs;
	char path[48];
	struct line l = { .text = path, .size = sizeof(path) };

	put_str(&l, "/proc/");
	put_signed(&l, pid);
	put_str(&l, "/fd/2");
	path[l.len] = 0;
	return !fm_sys_fstat(2, &ours) &&
	       !fm_sys_stat(path, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

FM_FAULT static bool is_watched(void)
{
	if (!fm_sys_may_ask())
		return false;
	return fm_stderr_is_terminal() ||
	       (first_stderr.run && fm_stderr_is_of(first_stderr.run));
}

FM_FAULT static bool is_dropped(int level)
{
	int most = atomic_load_explicit(&fm_log_level, memory_order_relaxed);

	if (level != FM_LOG_NOTE)
		return level > most;
	return most < FM_LOG_WARN || (most < FM_LOG_INFO && !is_watched());
}

FM_FAULT void fm_log(int level, const char *fmt, ...)
{
	char text[LINE];
	struct line l = { .text = text, .size = sizeof(text) };
	va_list ap;

	put_str(&l, "fastmap: ");
	va_start(ap, fmt);
	put_format(&l, fmt, ap);
	va_end(ap);
	keep_line(&l);
	if (is_dropped(level) || !stderr_is_text())
		return;
	l.text[l.len++] = '\n';
	fm_sys3(SYS_write, 2, l.text, l.len);
}

FM_FAULT const char *fm_error_text(int err)
{
	return strerrordesc_np(err);
}

void fm_log_text(const char *text, size_t len)
{
	while (len && stderr_is_text()) {
		long r = fm_sys3(SYS_write, 2, text, len);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return;
		text += r;
		len -= (size_t)r;
	}
}
