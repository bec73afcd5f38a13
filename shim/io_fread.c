/* SPDX-License-Identifier: MIT */
/* io_fread.c - stdio calls that read. */
#include "io_stdio.h"

#include <string.h>

FM_NEXT(fread)
FM_NEXT(fread_unlocked)
FM_NEXT(fgets)
FM_NEXT(fgets_unlocked)
FM_NEXT(fgetc)
FM_NEXT(fgetc_unlocked)
FM_NEXT(__uflow)
FM_NEXT(getdelim)
FM_NEXT(getw)
FM_NEXT(vfscanf)

int __underflow(FILE *fp);
FM_NEXT(__underflow)
int _IO_getc(FILE *fp);

static size_t buffered(FILE *fp)
{
	return (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);
}

/* ---- fread ------------------------------------------------------------- */

static size_t get_plain(FILE *fp, void *buf, size_t n, bool lock)
{
	return lock ? FM_LATE(fread)(buf, 1, n, fp)
		    : FM_LATE(fread_unlocked)(buf, 1, n, fp);
}

static ssize_t call_get(const struct fm_rw *rw, const struct iovec *iov,
			int cnt, off_t off)
{
	return (ssize_t)get_plain(rw->arg, iov->iov_base, iov->iov_len,
				  rw->flags);
}

/* More is going to be read. */
static bool see(FILE *fp, bool lock)
{
	return fm_stdio_see(fp, lock) >= 0;
}

static size_t get_any(FILE *fp, void *buf, size_t n, bool lock)
{
	/* What is in the stream's buffer is copied without a system call, also
	 * if another thread empties it first: n is less than the whole. */
	if (n >= buffered(fp) && fm_data_in(buf, n))
		return fm_stdio_guarded(fp, buf, n, lock, true, call_get);
	return get_plain(fp, buf, n, lock);
}

static size_t io_fread_get(FILE *fp, void *buf, size_t n, bool lock)
{
	unsigned slot;
	size_t r = 0;

	if (n <= buffered(fp))
		return get_any(fp, buf, n, lock);
	slot = fm_read_enter(fp->_fileno);
	if (see(fp, lock))
		r = get_any(fp, buf, n, lock);
	fm_read_leave(slot);
	fm_ipc_after(0);
	return r;
}

/* Nobody is concerned, or no system call will be made. */
static bool io_fread_passes(FILE *fp, size_t size, size_t n)
{
	if (fm_stdio_none(size, n))
		return true;
	return size * n <= buffered(fp) &&
	       (!fm_looks() ||
		(!fm_stdio_locks(fp) && size * n < buffered(fp)));
}

FM_HOOK size_t fread(void *buf, size_t size, size_t n, FILE *fp)
{
	if (io_fread_passes(fp, size, n))
		return FM_LATE(fread)(buf, size, n, fp);
	return fm_stdio_items(fp, buf, size, n, true, io_fread_get);
}

FM_HOOK size_t fread_unlocked(void *buf, size_t size, size_t n, FILE *fp)
{
	if (io_fread_passes(fp, size, n))
		return FM_LATE(fread_unlocked)(buf, size, n, fp);
	return fm_stdio_items(fp, buf, size, n, false, io_fread_get);
}

/* ---- characters -------------------------------------------------------- */

/* `reads`: more than the stream's buffer is asked for. Also told of is who
 * began when nothing was mapped: he may have waited for long. */
#define SEEN(type, reads, lock, none, call) \
	unsigned slot;                      \
	type r = none;                      \
                                            \
	if (!fm_on() || !(reads))           \
		return call;                \
	slot = fm_read_enter(fp->_fileno);  \
	if (see(fp, lock))                  \
		r = call;                   \
	fm_read_leave(slot);                \
	fm_ipc_after(0);                    \
	return r

/* As libc's own getc does it, where that locks nothing. */
static inline bool get_fast(FILE *fp)
{
	return !fm_stdio_locks(fp) && fp->_IO_read_ptr < fp->_IO_read_end;
}

FM_HOOK int fgetc(FILE *fp)
{
	if (get_fast(fp))
		return (unsigned char)*fp->_IO_read_ptr++;
	SEEN(int, !buffered(fp), true, EOF, FM_LATE(fgetc)(fp));
}

FM_HOOK int fgetc_unlocked(FILE *fp)
{
	if (get_fast(fp))
		return (unsigned char)*fp->_IO_read_ptr++;
	SEEN(int, !buffered(fp), false, EOF, FM_LATE(fgetc_unlocked)(fp));
}

/* What getc_unlocked expands to. */
FM_HOOK int __uflow(FILE *fp)
{
	SEEN(int, true, false, EOF, FM_LATE(__uflow)(fp));
}

FM_HOOK int __underflow(FILE *fp)
{
	SEEN(int, !buffered(fp), false, EOF, FM_LATE(__underflow)(fp));
}

FM_HOOK int getchar(void)
{
	return fgetc(stdin);
}

#undef getchar_unlocked
FM_HOOK int getchar_unlocked(void)
{
	return fgetc_unlocked(stdin);
}

FM_HOOK int getw(FILE *fp)
{
	SEEN(int, buffered(fp) < sizeof(int), true, EOF, FM_LATE(getw)(fp));
}

#undef getc
#undef getc_unlocked
FM_ALIAS(fgetc) int getc(FILE *fp);
FM_ALIAS(fgetc) int _IO_getc(FILE *fp);
FM_ALIAS(fgetc_unlocked) int getc_unlocked(FILE *fp);

/* ---- lines and formats ------------------------------------------------- */

/* libc copies out of the stream's buffer in user mode; only filling that
 * buffer is I/O. */
static bool no_line(FILE *fp, int delim, size_t max)
{
	const size_t have = buffered(fp);

	return have < max && !(have && memchr(fp->_IO_read_ptr, delim, have));
}

FM_HOOK char *fgets(char *buf, int n, FILE *fp)
{
	SEEN(char *, n > 1 && no_line(fp, '\n', (size_t)n), true, NULL,
	     FM_LATE(fgets)(buf, n, fp));
}

FM_HOOK char *fgets_unlocked(char *buf, int n, FILE *fp)
{
	SEEN(char *, n > 1 && no_line(fp, '\n', (size_t)n), false, NULL,
	     FM_LATE(fgets_unlocked)(buf, n, fp));
}

FM_HOOK ssize_t getdelim(char **line, size_t *n, int delim, FILE *fp)
{
	SEEN(ssize_t, no_line(fp, delim, SIZE_MAX), true, -1,
	     FM_LATE(getdelim)(line, n, delim, fp));
}

FM_HOOK ssize_t getline(char **line, size_t *n, FILE *fp)
{
	return getdelim(line, n, '\n', fp);
}

FM_ALIAS(getdelim)
ssize_t __getdelim(char **line, size_t *n, int delim, FILE *fp);

/* One family per language standard that the program was built for. The
 * headers rename scanf and its kin; here the names are the linker's. */
int __isoc99_vfscanf(FILE *fp, const char *fmt, va_list ap);
int __isoc23_vfscanf(FILE *fp, const char *fmt, va_list ap);
FM_NEXT(__isoc99_vfscanf)
FM_NEXT(__isoc23_vfscanf)

/* `p`: prefix of the names, `next`: what is behind its vfscanf. */
#define SCANF_FAMILY(p, id, next)                                          \
	int id##_vfscanf(FILE *fp, const char *fmt, va_list ap)            \
		__asm__(p "vfscanf");                                      \
	int id##_fscanf(FILE *fp, const char *fmt, ...)                    \
		__asm__(p "fscanf");                                       \
	int id##_vscanf(const char *fmt, va_list ap) __asm__(p "vscanf");  \
	int id##_scanf(const char *fmt, ...) __asm__(p "scanf");           \
                                                                           \
	FM_HOOK int id##_vfscanf(FILE *fp, const char *fmt, va_list ap)    \
	{                                                                  \
		SEEN(int, true, true, EOF, FM_LATE(next)(fp, fmt, ap));    \
	}                                                                  \
	FM_HOOK int id##_vscanf(const char *fmt, va_list ap)               \
	{                                                                  \
		return id##_vfscanf(stdin, fmt, ap);                       \
	}                                                                  \
	FM_HOOK int id##_fscanf(FILE *fp, const char *fmt, ...)            \
	{                                                                  \
		va_list ap;                                                \
		int r;                                                     \
                                                                           \
		va_start(ap, fmt);                                         \
		r = id##_vfscanf(fp, fmt, ap);                             \
		va_end(ap);                                                \
		return r;                                                  \
	}                                                                  \
	FM_HOOK int id##_scanf(const char *fmt, ...)                       \
	{                                                                  \
		va_list ap;                                                \
		int r;                                                     \
                                                                           \
		va_start(ap, fmt);                                         \
		r = id##_vfscanf(stdin, fmt, ap);                          \
		va_end(ap);                                                \
		return r;                                                  \
	}

SCANF_FAMILY("", gnu, vfscanf)
SCANF_FAMILY("__isoc99_", c99, __isoc99_vfscanf)
SCANF_FAMILY("__isoc23_", c23, __isoc23_vfscanf)

int __vfscanf(FILE *fp, const char *fmt, va_list ap);
FM_ALIAS(vfscanf) int __vfscanf(FILE *fp, const char *fmt, va_list ap);
