/* SPDX-License-Identifier: MIT */
/*
 * backing_files.c - several files as one. An index says which part of which
 * file follows which (docs/stores.md). Each part has a number, and another one
 * that passes the page cache by where the part lies on whole pages of both.
 */
#include "store.h"
#include "uring.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fds.h"
#include "base/sys.h"
#include "base/text.h"
#include "engine.h"
#include "ring_priv.h"
#include "backing.h"

extern const struct fm_backing_kind fm_backing_files;

#define HEAD "fastmap-files 1\n"

struct part {
	uint64_t from; /* where it begins in the whole */
	uint64_t off, len;
	dev_t dev;
	ino_t ino;
	_Atomic int fd;
	int direct; /* or -1 */
	const char *path;
};

struct files {
	struct fm_arena arena;
	char folder[4096];
	unsigned n;
	struct part part[];
};

/* ---- the index ---------------------------------------------------------- */

static int files_why(struct fm_backing *s, const char *what, const char *path,
		     int err)
{
	if (fm_join(s->why, sizeof(s->why), what, " ", path))
		fm_join(s->why, sizeof(s->why), what, "", "");
	return err;
}

/* "path offset length", of which the path may have spaces. Cuts the line. */
static bool parse_line(char *line, struct part *p, bool *ret_rest)
{
	char *length = strrchr(line, ' '), *offset;
	const char *end;

	if (!length)
		return false;
	*length++ = 0;
	offset = strrchr(line, ' ');
	if (!offset || offset == line)
		return false;
	*offset++ = 0;
	*ret_rest = !strcmp(length, "-");
	end = *ret_rest ? "" : fm_number(length, &p->len);
	p->path = line;
	return end && !*end && (end = fm_number(offset, &p->off)) && !*end;
}

static const char *part_path(struct files *f, const char *path)
{
	char full[8192];

	if (*path == '/' || fm_join(full, sizeof(full), f->folder, path, ""))
		return path;
	return fm_arena_text(&f->arena, full, strlen(full));
}

/* Not all file systems do what they let one open for: one page is read. */
static int open_direct(const struct part *p)
{
	int fd = fm_sys_open(p->path, O_RDONLY | O_DIRECT, 0);
	char *page = fd >= 0 ? fm_sys_anon(FM_PAGE) : NULL;
	long n = page ? fm_sys_pread(fd, page, FM_PAGE, (off_t)p->off) : -1;

	if (page)
		fm_sys_munmap(page, FM_PAGE);
	if (n > 0)
		return fm_fd_raise(fd);
	if (fd >= 0)
		fm_sys_close(fd);
	return -1;
}

/* A part that lies at odd bytes is read through the page cache. */
static bool whole_pages(const struct part *p)
{
	return !((p->from | p->off | p->len) & FM_PAGE_MASK) && p->len;
}

static int open_part(struct fm_backing *s, struct part *p, bool rest)
{
	struct stat st;
	int fd = fm_sys_open(p->path, O_RDONLY, 0);

	p->direct = -1;
	if (fd < 0)
		return files_why(s, "cannot open", p->path, fd);
	atomic_store(&p->fd, fm_fd_raise(fd));
	if (fm_sys_fstat(p->fd, &st) || !S_ISREG(st.st_mode))
		return files_why(s, "no regular file:", p->path, -EINVAL);
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	if (rest && p->off <= (uint64_t)st.st_size)
		p->len = (uint64_t)st.st_size - p->off;
	if (p->off > (uint64_t)st.st_size ||
	    p->len > (uint64_t)st.st_size - p->off)
		return files_why(s, "shorter than the index says:", p->path,
				 -EINVAL);
	if (whole_pages(p))
		p->direct = open_direct(p);
	return 0;
}

static int index_line(struct fm_backing *s, struct files *f, char *line)
{
	struct part *p = &f->part[f->n];
	bool rest;
	int err;

	if (!*line || *line == '#')
		return 0;
	p->from = (uint64_t)s->size;
	p->fd = p->direct = -1;
	if (!parse_line(line, p, &rest))
		return files_why(s, "bad line in the index:", line, -EINVAL);
	p->path = part_path(f, p->path);
	f->n++; /* from here on its number is closed with the others */
	err = p->path ? open_part(s, p, rest) : -ENOMEM;
	if (!err && p->len > (uint64_t)(INT64_MAX >> 1) - p->from)
		err = files_why(s, "too large:", p->path, -EFBIG);
	s->size += err ? 0 : (int64_t)p->len;
	f->n -= !err && !p->len;
	return err;
}

static void files_drop(struct files *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (f->part[i].fd >= 0)
			fm_fd_drop(f->part[i].fd);
		if (f->part[i].direct >= 0)
			fm_fd_drop(f->part[i].direct);
	}
	fm_arena_drop(&f->arena);
	fm_free(f);
}

static int index_lines(struct fm_backing *s, struct files *f, char *text)
{
	int err = 0;

	while (*text && !err) {
		char *line = text;

		text += strcspn(text, "\n");
		if (*text)
			*text++ = 0;
		err = index_line(s, f, line);
	}
	return err;
}

static unsigned lines_in(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* *arena has the text, and all that is kept of it. */
static int index_read(struct fm_backing *s, struct fm_arena *arena,
		      const char *where, struct files **ret, char **ret_text)
{
	int err = fm_read_text(arena, where, ret_text);

	if (err)
		return files_why(s, "cannot read", where, err);
	if (strncmp(*ret_text, HEAD, strlen(HEAD)))
		return files_why(s, "not \"fastmap-files 1\":", where, -EINVAL);
	*ret = fm_alloc(sizeof(**ret) +
			lines_in(*ret_text) * sizeof(struct part));
	return *ret ? 0 : -ENOMEM;
}

static int files_open(struct fm_backing *s, const char *where)
{
	struct fm_arena arena = { NULL, 0, NULL };
	struct files *f = NULL;
	char *text;
	int err = index_read(s, &arena, where, &f, &text);

	if (err) {
		fm_arena_drop(&arena);
		return err;
	}
	f->arena = arena;
	if (!fm_resolve(where, f->folder, sizeof(f->folder)))
		strrchr(f->folder, '/')[1] = 0;
	s->size = 0;
	err = index_lines(s, f, text + strlen(HEAD));
	if (err) {
		files_drop(f);
		return err;
	}
	s->own = f;
	s->dev = f->n ? f->part[0].dev : 0;
	return 0;
}

/* ---- reads -------------------------------------------------------------- */

/* The last part that begins at or before off, which is within the whole. */
static FM_FAULT struct part *part_with(struct files *f, uint64_t off)
{
	unsigned a = 0, b = f->n;

	while (b - a > 1) {
		unsigned mid = a + (b - a) / 2;

		if (f->part[mid].from <= off)
			a = mid;
		else
			b = mid;
	}
	return &f->part[a];
}

/* The program may have closed the number and opened something else. */
static FM_FAULT int files_number(struct part *p)
{
	int fd = atomic_load(&p->fd), now;

	if (fm_sys_is_file(fd, p->dev, p->ino))
		return fd;
	if (fm_sys_confined())
		return -EBADF;
	now = fm_sys_open(p->path, O_RDONLY, 0);
	if (now < 0)
		return now;
	if (!fm_sys_is_file(now, p->dev, p->ino)) {
		fm_sys_close(now);
		return -ESTALE;
	}
	now = fm_fd_raise(now);
	if (!atomic_compare_exchange_strong(&p->fd, &fd, now))
		fm_fd_drop(now); /* another thread was first */
	return atomic_load(&p->fd);
}

/* What one call may read of it: one part, and where. */
struct piece {
	int fd;
	uint64_t off, len;
};

static FM_FAULT struct piece files_piece(struct files *f, const void *buf,
					 uint64_t off, uint64_t len)
{
	struct part *p = part_with(f, off);
	const uint64_t in = off - p->from;
	struct piece c = { .off = p->off + in, .len = len };

	if (c.len > p->len - in)
		c.len = p->len - in;
	if (p->direct >= 0 &&
	    !((c.off | c.len | (uintptr_t)buf) & FM_PAGE_MASK) &&
	    fm_sys_is_file(p->direct, p->dev, p->ino))
		c.fd = p->direct;
	else
		c.fd = files_number(p);
	return c;
}

static FM_FAULT long files_read(struct fm_backing *s, void *buf, uint64_t off,
				uint64_t len)
{
	const struct piece c = files_piece(s->own, buf, off, len);

	return c.fd < 0 ? c.fd : fm_sys_pread(c.fd, buf, c.len, (off_t)c.off);
}

static FM_FAULT bool files_begin(struct fm_ring *r, struct fm_io *io)
{
	struct fm_backing *s = io->file->io->backing;
	const struct piece c = files_piece(
		s->own, io->buf, io->off,
		fm_least(io->len, (uint64_t)s->size - io->off));
	struct io_uring_sqe *sqe = NULL;

	if (c.fd >= 0 && r->uring)
		sqe = io_uring_get_sqe(&r->ring);
	if (!sqe) {
		fm_ring_finish(r, io, files_read(s, io->buf, io->off, c.len));
		return false;
	}
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_READ;
	sqe->fd = c.fd;
	sqe->off = c.off;
	sqe->addr = (uintptr_t)io->buf;
	sqe->len = (uint32_t)c.len;
	sqe->user_data = (uintptr_t)io;
	return true;
}

static struct fm_backing_io calls FM_FAULT_CALLS = {
	.read = files_read,
	.begin = files_begin,
};

const struct fm_backing_kind fm_backing_files = {
	.prefix = "files:",
	.open = files_open,
	.io = &calls,
};
