/* SPDX-License-Identifier: MIT */
/* io_fwrite.c - stdio calls that write. */
#include "io_stdio.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

FM_NEXT(fwrite)
FM_NEXT(fwrite_unlocked)
FM_NEXT(fputs)
FM_NEXT(fputs_unlocked)
FM_NEXT(puts)
FM_NEXT(fputc)
FM_NEXT(fputc_unlocked)
FM_NEXT(__overflow)
FM_NEXT(vfprintf)
FM_NEXT(vdprintf)

int _IO_putc(int ch, FILE *fp) __nonnull((2));
int __vfprintf_chk(FILE *fp, int flag, const char *fmt, va_list ap);
int __fprintf_chk(FILE *fp, int flag, const char *fmt, ...);
int __vprintf_chk(int flag, const char *fmt, va_list ap);
int __printf_chk(int flag, const char *fmt, ...);
int __vdprintf_chk(int fd, int flag, const char *fmt, va_list ap);
int __dprintf_chk(int fd, int flag, const char *fmt, ...);
int __vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap);
FM_NEXT(__vfprintf_chk)
FM_NEXT(__vdprintf_chk)

/* ---- fwrite ------------------------------------------------------------ */

static size_t call_fwrite(FILE *fp, const void *buf, size_t n, bool lock)
{
	return lock ? FM_LATE(fwrite)(buf, 1, n, fp)
		    : FM_LATE(fwrite_unlocked)(buf, 1, n, fp);
}

static size_t io_fwrite_put(FILE *fp, const void *buf, size_t n, bool lock)
{
	struct fm_stdio s;
	size_t r;

	if (!fm_stdio_begin(&s, fp, n, lock))
		return call_fwrite(fp, buf, n, lock);
	pthread_cleanup_push(fm_stdio_end, &s);
	r = s.failed ? 0 : call_fwrite(fp, buf, n, lock);
	pthread_cleanup_pop(1);
	return r;
}

static ssize_t call_put(const struct fm_rw *rw, const struct iovec *iov,
			int cnt, off_t off)
{
	return (ssize_t)io_fwrite_put(rw->arg, iov->iov_base, iov->iov_len,
				      rw->flags);
}

/* fwrite of bytes, all guards. What fits into the stream's buffer is copied by
 * the program's own instructions, which may fault like any other. */
static size_t put_any(FILE *fp, void *buf, size_t n, bool lock)
{
	if (n && !fm_stdio_fits(fp, n) && fm_data_in(buf, n))
		return fm_stdio_guarded(fp, buf, n, lock, false, call_put);
	return io_fwrite_put(fp, buf, n, lock);
}

/* Nobody is concerned, or no system call will be made. */
static bool io_fwrite_passes(FILE *fp, size_t size, size_t n)
{
	if (fm_stdio_none(size, n))
		return true;
	return fm_stdio_fits(fp, size * n) &&
	       (!fm_looks() || !fm_stdio_locks(fp));
}

static size_t io_fwrite_items(const void *buf, size_t size, size_t n, FILE *fp,
			      bool lock)
{
	return fm_stdio_items(fp, (void *)(uintptr_t)buf, size, n, lock,
			      put_any);
}

FM_HOOK size_t fwrite(const void *buf, size_t size, size_t n, FILE *fp)
{
	if (io_fwrite_passes(fp, size, n))
		return FM_LATE(fwrite)(buf, size, n, fp);
	return io_fwrite_items(buf, size, n, fp, true);
}

#undef fwrite_unlocked
FM_HOOK size_t fwrite_unlocked(const void *buf, size_t size, size_t n,
			       FILE *fp)
{
	if (io_fwrite_passes(fp, size, n))
		return FM_LATE(fwrite_unlocked)(buf, size, n, fp);
	return io_fwrite_items(buf, size, n, fp, false);
}

/* ---- strings and characters -------------------------------------------- */

static int put_string(const char *s, FILE *fp, bool lock)
{
	const size_t n = strlen(s);

	return put_any(fp, (void *)(uintptr_t)s, n, lock) == n ? 1 : EOF;
}

FM_HOOK int fputs(const char *s, FILE *fp)
{
	return fm_looks() ? put_string(s, fp, true) : FM_LATE(fputs)(s, fp);
}

FM_HOOK int fputs_unlocked(const char *s, FILE *fp)
{
	return fm_looks() ? put_string(s, fp, false) :
			    FM_LATE(fputs_unlocked)(s, fp);
}

FM_HOOK int puts(const char *s)
{
	int r;

	if (!fm_looks())
		return FM_LATE(puts)(s);
	flockfile(stdout);
	pthread_cleanup_push(fm_stdio_unlock, stdout);
	r = fputs(s, stdout) < 0 || fputc('\n', stdout) < 0 ? EOF : 1;
	pthread_cleanup_pop(1);
	return r;
}

#define LINE_BUF 0x200 /* _IO_LINE_BUF, _IO_CURRENTLY_PUTTING: libio.h */
#define PUTTING 0x800

/* A line-buffered stream has room, and the line does not end. */
static bool in_line(const FILE *fp, int ch)
{
	return (fp->_flags & (LINE_BUF | PUTTING)) == (LINE_BUF | PUTTING) &&
	       ch != '\n' && fp->_IO_buf_end - fp->_IO_write_ptr > 1 &&
	       !fm_stdio_locks(fp);
}

/* As libc's own putc does it, where that locks nothing. */
static inline bool put_fast(int ch, FILE *fp)
{
	if (fm_stdio_locks(fp) || fp->_IO_write_ptr >= fp->_IO_write_end)
		return false;
	*fp->_IO_write_ptr++ = (char)ch;
	return true;
}

/* A full (or line-buffered) stream goes the long way. */
static int io_fwrite_put_char(int ch, FILE *fp, bool lock,
			      int (*call)(int, FILE *))
{
	struct fm_stdio s;
	int r;

	if (in_line(fp, ch) || !fm_stdio_begin(&s, fp, 1, lock))
		return call(ch, fp);
	pthread_cleanup_push(fm_stdio_end, &s);
	r = s.failed ? EOF : call(ch, fp);
	pthread_cleanup_pop(1);
	return r;
}

static int call_overflow(int ch, FILE *fp)
{
	return FM_LATE(__overflow)(fp, ch);
}

FM_HOOK int fputc(int ch, FILE *fp)
{
	if (put_fast(ch, fp))
		return (unsigned char)ch;
	if (!fm_looks())
		return FM_LATE(fputc)(ch, fp);
	return io_fwrite_put_char(ch, fp, true, FM_LATE(fputc));
}

FM_HOOK int fputc_unlocked(int ch, FILE *fp)
{
	if (put_fast(ch, fp))
		return (unsigned char)ch;
	if (!fm_looks())
		return FM_LATE(fputc_unlocked)(ch, fp);
	return io_fwrite_put_char(ch, fp, false, FM_LATE(fputc_unlocked));
}

/* What putc_unlocked expands to. */
FM_HOOK int __overflow(FILE *fp, int ch)
{
	if (!fm_looks())
		return FM_LATE(__overflow)(fp, ch);
	return io_fwrite_put_char(ch, fp, false, call_overflow);
}

#undef putchar
FM_HOOK int putchar(int ch)
{
	return fputc(ch, stdout);
}

#undef putchar_unlocked
FM_HOOK int putchar_unlocked(int ch)
{
	return fputc_unlocked(ch, stdout);
}

FM_HOOK int putw(int word, FILE *fp)
{
	return fwrite(&word, sizeof(word), 1, fp) == 1 ? 0 : EOF;
}

#undef putc
#undef putc_unlocked
FM_ALIAS(fputc) int putc(int ch, FILE *fp);
FM_ALIAS(fputc) int _IO_putc(int ch, FILE *fp) __nonnull((2));
FM_ALIAS(fputc_unlocked) int putc_unlocked(int ch, FILE *fp);

/* ---- formats ----------------------------------------------------------- */

/* libc may fault on managed arguments of printf while it writes; nothing of
 * the file may be held then. Format first. */
static bool format_first(int fd)
{
	struct fm_file *f;

	if (!fm_looks() || fd < 0)
		return false;
	fm_ipc_before();
	f = fm_file_by_fd(fd);
	if (f)
		fm_file_put(f);
	return f;
}

static int put_text(FILE *fp, char *text, int n)
{
	if (n < 0)
		return -1;
	if (put_any(fp, text, (size_t)n, true) != (size_t)n)
		n = -1;
	free(text);
	return n;
}

static int write_text(int fd, char *text, int n)
{
	ssize_t r;

	if (n < 0)
		return -1;
	for (int done = 0; done < n; done += (int)r) {
		r = fm_do_write(false, fd, text + done, (size_t)(n - done));
		if (r < 0) {
			n = -1;
			break;
		}
	}
	free(text);
	return n;
}

/* ---- formats that end in the stream's buffer --------------------------- */

#define NUMBER 24
#define SHORT_REAL 32
#define LONG_REAL 400
#define WIDTH_MOST 4096

static const char *io_fwrite_number(const char *f, size_t *ret)
{
	for (*ret = 0; *f >= '0' && *f <= '9' && *ret < WIDTH_MOST; f++)
		*ret = *ret * 10 + (size_t)(*f - '0');
	return f;
}

/* One conversion, behind the percent sign: adds how many bytes come of it at
 * most, and takes its argument. Returns its last character; NULL: not known. */
static const char *conversion(const char *f, va_list *ap, size_t *n)
{
	size_t width, digits = 0;
	bool wide = false, exact;
	const char *s;

	while (*f == '-' || *f == '+' || *f == ' ' || *f == '#' || *f == '0')
		f++;
	f = io_fwrite_number(f, &width);
	exact = *f == '.';
	if (exact)
		f = io_fwrite_number(f + 1, &digits);
	for (; *f == 'l' || *f == 'z' || *f == 'h'; f++)
		wide |= *f != 'h';
	*n += width + digits;
	switch (*f) {
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		if (wide)
			(void)va_arg(*ap, long);
		else
			(void)va_arg(*ap, int);
		*n += NUMBER;
		return f;
	case 'p':
		(void)va_arg(*ap, void *);
		*n += NUMBER;
		return f;
	case 'g': case 'G': case 'e': case 'E': case 'f':
		(void)va_arg(*ap, double);
		*n += *f == 'f' ? LONG_REAL : SHORT_REAL;
		return f;
	case 'c':
		(void)va_arg(*ap, int);
		return wide ? NULL : f;
	case 's': /* not more than so many may be there */
		if (exact)
			return NULL;
		s = va_arg(*ap, const char *);
		*n += s && !wide ? strlen(s) : NUMBER;
		return wide ? NULL : f;
	case '%':
		return f;
	}
	return NULL;
}

static bool format_fits(const FILE *fp, const char *f, va_list ap)
{
	va_list copy;
	size_t n = 0;

	if (!fm_stdio_fits(fp, 1))
		return false;
	va_copy(copy, ap);
	for (; *f; f++, n++) {
		if (*f == '%')
			f = conversion(f + 1, &copy, &n);
		if (!f)
			break;
	}
	va_end(copy);
	return f && fm_stdio_fits(fp, n);
}

/* No system call will be made: nobody need know which file it is. */
static bool io_fwrite_stays(const FILE *fp, const char *fmt, va_list ap)
{
	return !fm_looks() ||
	       (!fm_stdio_locks(fp) && format_fits(fp, fmt, ap));
}

#define FORMAT(fn, params, passes, next, text_of, out)                     \
	FM_HOOK int fn params                                              \
	{                                                                  \
		char *text;                                                \
		int n;                                                     \
                                                                           \
		if (passes)                                                \
			return FM_LATE(fn) next;                           \
		n = text_of;                                               \
		return out;                                                \
	}

#define PASSES_STREAM \
	io_fwrite_stays(fp, fmt, ap) || !format_first(fp->_fileno)
FORMAT(vfprintf, (FILE * fp, const char *fmt, va_list ap), PASSES_STREAM,
       (fp, fmt, ap), vasprintf(&text, fmt, ap), put_text(fp, text, n))
FORMAT(__vfprintf_chk, (FILE * fp, int flag, const char *fmt, va_list ap),
       PASSES_STREAM, (fp, flag, fmt, ap),
       __vasprintf_chk(&text, flag, fmt, ap), put_text(fp, text, n))
FORMAT(vdprintf, (int fd, const char *fmt, va_list ap), !format_first(fd),
       (fd, fmt, ap), vasprintf(&text, fmt, ap), write_text(fd, text, n))
FORMAT(__vdprintf_chk, (int fd, int flag, const char *fmt, va_list ap),
       !format_first(fd), (fd, flag, fmt, ap),
       __vasprintf_chk(&text, flag, fmt, ap), write_text(fd, text, n))

/* The forms with "..." hand over to the forms with va_list. */
#define ELLIPSIS(fn, params, next)                                         \
	FM_HOOK int fn params                                              \
	{                                                                  \
		va_list ap;                                                \
		int r;                                                     \
                                                                           \
		va_start(ap, fmt);                                         \
		r = next;                                                  \
		va_end(ap);                                                \
		return r;                                                  \
	}

#define FMT const char *fmt, ...
ELLIPSIS(fprintf, (FILE * fp, FMT), vfprintf(fp, fmt, ap))
ELLIPSIS(printf, (FMT), vfprintf(stdout, fmt, ap))
ELLIPSIS(dprintf, (int fd, FMT), vdprintf(fd, fmt, ap))
ELLIPSIS(__fprintf_chk, (FILE * fp, int flag, FMT),
	 __vfprintf_chk(fp, flag, fmt, ap))
ELLIPSIS(__printf_chk, (int flag, FMT), __vfprintf_chk(stdout, flag, fmt, ap))
ELLIPSIS(__dprintf_chk, (int fd, int flag, FMT),
	 __vdprintf_chk(fd, flag, fmt, ap))

FM_HOOK int vprintf(const char *fmt, va_list ap)
{
	return vfprintf(stdout, fmt, ap);
}

FM_HOOK int __vprintf_chk(int flag, const char *fmt, va_list ap)
{
	return __vfprintf_chk(stdout, flag, fmt, ap);
}
