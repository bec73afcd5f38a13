/* SPDX-License-Identifier: MIT */
/*
 * io_stdio.c - FILE streams. libc's stdio makes its system calls inside libc,
 * where no hook sees them, so the outer names are guarded instead:
 *
 *  - a managed buffer handed to fread or fwrite, a managed string handed to
 *    fputs: pinned, in pieces (io_fread.c, io_fwrite.c), unless the stream's
 *    buffer has the bytes, or room for them;
 *  - a stream over a managed file: what a call will write is held around it,
 *    and what it may read is written back before it. The buffer's pointers
 *    (public in struct _IO_FILE) tell cheaply that a call does no I/O.
 *
 * Not covered: wide streams; perror and its like on a managed stderr; what
 * exit() writes out after our own end; a managed string for %s of printf that
 * is longer than the stream's buffer, when it is evicted between libc's two
 * passes over it.
 */
#include "io_stdio.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

FM_NEXT(fflush)
FM_NEXT(fflush_unlocked)
FM_NEXT(fclose)
FM_NEXT(fcloseall)
FM_NEXT(fseek)
FM_NEXT(fseeko)
FM_NEXT(rewind)
FM_NEXT(fsetpos)
FM_NEXT(setvbuf)

/* libc's list of open streams. */
FILE *_IO_iter_begin(void) __attribute__((weak));
FILE *_IO_iter_end(void) __attribute__((weak));
FILE *_IO_iter_next(FILE *it) __attribute__((weak));
FILE *_IO_iter_file(FILE *it) __attribute__((weak));
void _IO_list_lock(void) __attribute__((weak));
void _IO_list_unlock(void) __attribute__((weak));

/* ---- which file, which bytes -------------------------------------------- */

/* The managed file behind a stream, or NULL. Memory streams have no number;
 * fileno() would set errno for them. */
static struct fm_file *file_of(FILE *fp)
{
	return fp->_fileno >= 0 ? fm_file_by_fd(fp->_fileno) : NULL;
}

bool fm_stdio_may_pin(FILE *fp)
{
	struct fm_file *f;
	struct stat st;

	if (fp->_fileno < 0 || fm_sys_stat_notimes(fp->_fileno, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	f = fm_file_by_stat(&st);
	if (f)
		fm_file_put(f);
	return !f;
}

static size_t pending(FILE *fp)
{
	return (size_t)(fp->_IO_write_ptr - fp->_IO_write_base);
}

/*
 * Hold everything that writing out the buffer and n more bytes can reach.
 * libc starts at the position, or steps back over what it read ahead, at most
 * a buffer. An append goes to the end, wherever that is by then.
 */
static int io_stdio_hold(struct fm_change *c, FILE *fp, size_t n)
{
	const off_t buffer = fp->_IO_buf_end - fp->_IO_buf_base;
	struct stat st;
	off_t from;
	long fl;

	fm_change_serial(c);
	from = fm_sys3(SYS_lseek, fp->_fileno, 0, SEEK_CUR);
	from = from > buffer ? from - buffer : 0;
	fl = fm_sys2(SYS_fcntl, fp->_fileno, F_GETFL);
	if (fl < 0 || !(fl & O_APPEND))
		return fm_change_lock(c, from,
				      2 * buffer + (off_t)(n + pending(fp)));
	if (fm_sys_stat_notimes(fp->_fileno, &st) < 0)
		return fm_change_lock(c, 0, 0);
	return fm_change_lock(c, st.st_size, (off_t)(n + pending(fp)));
}

/* ---- more than one transfer -------------------------------------------- */

#define PIECE ((size_t)1 << 30)
_Static_assert(PIECE <= FM_RW_MAX, "moved at once");

void fm_stdio_unlock(void *fp)
{
	funlockfile(fp);
}

static size_t pieces(FILE *fp, char *buf, size_t n, bool lock, fm_stdio_one one)
{
	size_t done = 0, want, r;

	do {
		want = n - done < PIECE ? n - done : PIECE;
		r = one(fp, buf + done, want, lock);
		done += r;
	} while (r == want && done < n);
	return done;
}

static size_t as_one(FILE *fp, void *buf, size_t n, bool lock, fm_stdio_one one)
{
	size_t r;

	if (n <= PIECE || !lock)
		return pieces(fp, buf, n, lock, one);
	flockfile(fp);
	pthread_cleanup_push(fm_stdio_unlock, fp);
	r = pieces(fp, buf, n, lock, one);
	pthread_cleanup_pop(1);
	return r;
}

size_t fm_stdio_items(FILE *fp, void *buf, size_t size, size_t n, bool lock,
		      fm_stdio_one one)
{
	const size_t r = as_one(fp, buf, size * n, lock, one);

	return r == size * n ? n : r / size;
}

/* What is left of a regular file. What has been pushed back may hide some of
 * it, which is read all the same. */
static void io_stdio_until(struct fm_rw *rw, FILE *fp)
{
	struct stat st;
	off_t at;

	if (fm_sys_stat_notimes(fp->_fileno, &st) || !S_ISREG(st.st_mode) ||
	    !st.st_size)
		return;
	at = fm_sys3(SYS_lseek, fp->_fileno, 0, SEEK_CUR);
	rw->sized = at >= 0;
	rw->until = fp->_IO_read_end - fp->_IO_read_ptr + st.st_size - at;
}

/* libc has noted that the kernel could not use a page. */
static void io_stdio_mend(const struct fm_rw *rw)
{
	((FILE *)rw->arg)->_flags &= ~_IO_ERR_SEEN;
}

/* The stream's lock makes the pieces one call. */
size_t fm_stdio_guarded(FILE *fp, void *buf, size_t n, bool lock, bool in,
			ssize_t (*call)(const struct fm_rw *,
					const struct iovec *, int, off_t))
{
	struct iovec iov = { buf, n };
	struct fm_rw rw = {
		.fd = -1, .in = in, .flags = lock, .loop = true, .iov = &iov,
		.cnt = 1, .pin = fm_stdio_may_pin(fp), .arg = fp, .call = call,
	};
	size_t r;

	if (in)
		io_stdio_until(&rw, fp);
	if (!(fp->_flags & _IO_ERR_SEEN))
		rw.mend = io_stdio_mend;
	if (!lock)
		return (size_t)fm_transfer(&rw);
	flockfile(fp);
	pthread_cleanup_push(fm_stdio_unlock, fp);
	r = (size_t)fm_transfer(&rw);
	pthread_cleanup_pop(1);
	return r;
}

/* ---- around a call ------------------------------------------------------- */

static bool io_stdio_begin(struct fm_stdio *s, FILE *fp, size_t n, bool lock)
{
	s->locked = lock ? fp : NULL;
	s->failed = false;
	if (lock)
		flockfile(fp);
	s->slot = fm_write_enter(fp->_fileno);
	s->file = file_of(fp);
	if (!s->file)
		return true;
	fm_write_leave(s->slot);
	fm_change_file(&s->change, s->file);
	s->failed =
		io_stdio_hold(&s->change, fp, n == FM_STDIO_FLUSH ? 0 : n) < 0;
	if (s->failed)
		fp->_flags |= _IO_ERR_SEEN;
	return true;
}

/* Does anything go out? */
static bool goes_out(FILE *fp, size_t n)
{
	return fp->_fileno >= 0 &&
	       (n == FM_STDIO_FLUSH ? pending(fp) != 0 : !fm_stdio_fits(fp, n));
}

bool fm_stdio_begin(struct fm_stdio *s, FILE *fp, size_t n, bool lock)
{
	if (!goes_out(fp, n))
		return false;
	fm_ipc_before();
	return io_stdio_begin(s, fp, n, lock);
}

void fm_stdio_end(void *of)
{
	struct fm_stdio *s = of;

	if (s->file)
		fm_change_end(&s->change, true, false);
	else
		fm_write_leave(s->slot);
	if (s->locked)
		funlockfile(s->locked);
	if (s->file)
		fm_file_put(s->file);
}

/* The stream may turn from writing to reading: its buffer goes out first. A
 * failed write-back must not show the program older bytes. */
int fm_stdio_see(FILE *fp, bool lock)
{
	struct fm_file *f = file_of(fp);
	int r;

	if (!f)
		return 0;
	fm_stdio_flush(fp, lock);
	r = fm_file_flush(f, 0, 0);
	fm_file_put(f);
	if (r < 0)
		fp->_flags |= _IO_ERR_SEEN;
	return (int)fm_result(r);
}

static int io_stdio_write_out(FILE *fp, bool lock)
{
	struct fm_stdio s;
	int r;

	if (!io_stdio_begin(&s, fp, FM_STDIO_FLUSH, lock))
		return 0;
	pthread_cleanup_push(fm_stdio_end, &s);
	r = s.failed ? EOF : FM_LATE(fflush_unlocked)(fp);
	pthread_cleanup_pop(1);
	return r;
}

int fm_stdio_flush(FILE *fp, bool lock)
{
	if (!goes_out(fp, FM_STDIO_FLUSH))
		return 0;
	fm_ipc_before();
	return io_stdio_write_out(fp, lock);
}

/* ---- flush and close ----------------------------------------------------- */

static void unlock_list(void *unused)
{
	_IO_list_unlock();
}

/* Every stream, in libc's own lock order: the list, then the stream. */
static void flush_streams(void)
{
	if (!_IO_list_lock || !_IO_iter_begin)
		return;
	/* not under libc's lock, which fork takes when it has ours */
	fm_ipc_before();
	_IO_list_lock();
	pthread_cleanup_push(unlock_list, NULL);
	for (FILE *it = _IO_iter_begin(); it != _IO_iter_end();
	     it = _IO_iter_next(it))
		if (goes_out(_IO_iter_file(it), FM_STDIO_FLUSH))
			io_stdio_write_out(_IO_iter_file(it), true);
	pthread_cleanup_pop(1);
}

static int io_stdio_flush(FILE *fp, bool lock)
{
	if (!fp) {
		flush_streams();
		return 0;
	}
	return fm_stdio_flush(fp, lock);
}

FM_HOOK int fflush(FILE *fp)
{
	if (!fm_idle() && io_stdio_flush(fp, true) < 0)
		return EOF;
	return FM_LATE(fflush)(fp);
}

FM_HOOK int fflush_unlocked(FILE *fp)
{
	if (!fm_idle() && io_stdio_flush(fp, false) < 0)
		return EOF;
	return FM_LATE(fflush_unlocked)(fp);
}

/* The stream is gone afterwards in any case. */
FM_HOOK int fclose(FILE *fp)
{
	int r = fm_idle() ? 0 : fm_stdio_flush(fp, true);
	int e = errno, fd = fp->_fileno;

	fm_ipc_before();
	fm_seen_fd_closed();
	fm_close_begins(fd);
	if (FM_LATE(fclose)(fp) < 0)
		r = EOF;
	else if (r < 0)
		errno = e;
	fm_close_ends(fd);
	return r;
}

FM_HOOK int fcloseall(void)
{
	int r;

	if (fm_looks())
		flush_streams();
	fm_close_begins(FM_ALL_FDS);
	r = FM_LATE(fcloseall)();
	fm_close_ends(FM_ALL_FDS);
	return r;
}

/* ---- position ------------------------------------------------------------ */

/* A seek writes the buffer out and reads a new one. */
static int seek_see(FILE *fp)
{
	return fm_looks() ? fm_stdio_see(fp, true) : 0;
}

FM_HOOK int fseek(FILE *fp, long off, int whence)
{
	return seek_see(fp) < 0 ? -1 : FM_LATE(fseek)(fp, off, whence);
}

FM_HOOK int fseeko(FILE *fp, off_t off, int whence)
{
	return seek_see(fp) < 0 ? -1 : FM_LATE(fseeko)(fp, off, whence);
}

FM_HOOK void rewind(FILE *fp)
{
	if (seek_see(fp) == 0)
		FM_LATE(rewind)(fp);
}

FM_HOOK int fsetpos(FILE *fp, const fpos_t *pos)
{
	return seek_see(fp) < 0 ? -1 : FM_LATE(fsetpos)(fp, pos);
}

FM_ALIAS(fseeko) int fseeko64(FILE *fp, off64_t off, int whence);
FM_ALIAS(fsetpos) int fsetpos64(FILE *fp, const fpos64_t *pos);

/* ---- buffers ------------------------------------------------------------- */

/* A stream's buffer goes to the kernel at any time: it must be ordinary
 * memory, which the engine can never take, and the standard lets us ignore the
 * one offered. */
FM_HOOK int setvbuf(FILE *fp, char *buf, int mode, size_t n)
{
	const bool may_be_taken = buf && fm_krange_in(buf, n);

	if (!fm_looks() && !may_be_taken)
		return FM_LATE(setvbuf)(fp, buf, mode, n);
	fm_stdio_flush(fp, true);
	if (may_be_taken || (buf && fm_data_in(buf, n)))
		buf = NULL;
	return FM_LATE(setvbuf)(fp, buf, mode, n);
}

FM_HOOK void setbuffer(FILE *fp, char *buf, size_t n)
{
	setvbuf(fp, buf, buf ? _IOFBF : _IONBF, buf ? n : 0);
}

FM_HOOK void setbuf(FILE *fp, char *buf)
{
	setbuffer(fp, buf, BUFSIZ);
}

FM_HOOK void setlinebuf(FILE *fp)
{
	setvbuf(fp, NULL, _IOLBF, 0);
}
