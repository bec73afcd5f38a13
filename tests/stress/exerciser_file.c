/* SPDX-License-Identifier: MIT */
/* exerciser_file.c - system calls on the file, see exerciser.c. */
#include "exerciser.h"

#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static void op_pread(void)
{
	uint64_t off = some_off(max_size), len = some_len(max_size - off);
	uint64_t want = off < size ? min(len, size - off) : 0;
	struct iovec v[2] = { { buf, len / 3 },
			      { buf + len / 3, len - len / 3 } };
	ssize_t n;

	switch (rnd(3)) {
	case 0:
		note("pread %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		n = pread(fd, buf, len, (off_t)off);
		break;
	case 1:
		note("preadv %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		n = preadv(fd, v, 2, (off_t)off);
		break;
	default:
		note("lseek, read %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		expect(lseek(fd, (off_t)off, SEEK_SET), (ssize_t)off, "lseek");
		n = read(fd, buf, len);
		expect(lseek(fd, 0, SEEK_CUR), (ssize_t)(off + want), "lseek");
	}
	expect(n, (ssize_t)want, "read");
	differ("read", off, model + off, buf, want);
}

static void op_direct_read(void)
{
	uint64_t off = rnd(max_size / PAGE) * PAGE;
	uint64_t len = min(page_up(some_len(max_size)), max_size - off);
	uint64_t want = off < size ? min(len, size - off) : 0;
	int d = open(path, O_RDONLY | O_DIRECT);
	ssize_t n;

	if (d < 0)
		return;
	note("O_DIRECT pread %#llx len %#llx", (unsigned long long)off,
	     (unsigned long long)len);
	n = pread(d, buf, len, (off_t)off);
	close(d);
	expect(n, (ssize_t)want, "O_DIRECT read");
	differ("O_DIRECT read", off, model + off, buf, want);
}

static void op_write(void)
{
	uint64_t off = some_off(max_size), len = some_len(max_size - off);
	struct iovec v[2] = { { heap, len / 3 },
			      { heap + len / 3, len - len / 3 } };
	ssize_t n;

	fresh(heap, len);
	switch (rnd(4)) {
	case 0:
		note("pwritev %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		n = pwritev(fd, v, 2, (off_t)off);
		break;
	case 1:
		note("lseek, write %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		expect(lseek(fd, (off_t)off, SEEK_SET), (ssize_t)off, "lseek");
		n = write(fd, heap, len);
		break;
	default:
		note("pwrite %#llx len %#llx", (unsigned long long)off,
		     (unsigned long long)len);
		n = pwrite(fd, heap, len, (off_t)off);
	}
	expect(n, (ssize_t)len, "write");
	model_write(off, heap, len);
}

static void op_append(void)
{
	uint64_t len = some_len(64 * PAGE);
	int a;

	if (size + len > max_size)
		return;
	note("append len %#llx", (unsigned long long)len);
	fresh(heap, len);
	a = open(path, O_WRONLY | O_APPEND);
	if (a < 0)
		fail("open: %s", strerror(errno));
	expect(write(a, heap, len), (ssize_t)len, "append");
	close(a);
	model_write(size, heap, len);
}

static void op_direct_write(void)
{
	uint64_t off = rnd(max_size / PAGE) * PAGE;
	uint64_t len = min(page_up(some_len(max_size)), max_size - off);
	int d = open(path, O_WRONLY | O_DIRECT);

	if (d < 0)
		return;
	note("O_DIRECT pwrite %#llx len %#llx", (unsigned long long)off,
	     (unsigned long long)len);
	fresh(heap, len);
	expect(pwrite(d, heap, len, (off_t)off), (ssize_t)len,
	       "O_DIRECT write");
	close(d);
	model_write(off, heap, len);
}

/* write(2) from the mapping of the same file, ranges apart. */
static void op_write_from_map(void)
{
	struct map *m = some_map();
	uint64_t off = some_off(max_size), at, len;

	if (!m || !m->shared || size <= m->off)
		return;
	at = some_off(min(m->len, size - m->off));
	len = min(some_len(min(m->len, size - m->off) - at), max_size - off);
	if (off < m->off + at + len && m->off + at < off + len)
		return;
	note("pwrite %#llx len %#llx from map %d file %#llx",
	     (unsigned long long)off, (unsigned long long)len,
	     (int)(m - maps), (unsigned long long)(m->off + at));
	memcpy(heap, model + m->off + at, len);
	expect(pwrite(fd, m->addr + at, len, (off_t)off), (ssize_t)len,
	       "write from map");
	model_write(off, heap, len);
}

/* read(2) into the mapping of the same file, ranges apart. */
static void op_read_into_map(void)
{
	struct map *m = some_map();
	uint64_t off = some_off(max_size), at, len, want;

	if (!m || !m->shared || m->readonly || size <= m->off)
		return;
	at = some_off(min(m->len, size - m->off));
	len = some_len(min(m->len, size - m->off) - at);
	len = min(len, max_size - off);
	if (off < m->off + at + len && m->off + at < off + len)
		return;
	want = off < size ? min(len, size - off) : 0;
	note("pread %#llx len %#llx into map %d file %#llx",
	     (unsigned long long)off, (unsigned long long)len,
	     (int)(m - maps), (unsigned long long)(m->off + at));
	expect(pread(fd, m->addr + at, len, (off_t)off), (ssize_t)want,
	       "read into map");
	memcpy(model + m->off + at, model + off, want);
}

static void op_truncate(void)
{
	uint64_t to = rnd(4) ? min(max_size, size / 2 + rnd(size + PAGE)) :
			       rnd(max_size + 1);
	int r;

	if (rnd(3) == 0)
		to &= ~(PAGE - 1);
	note("truncate %#llx to %#llx", (unsigned long long)size,
	     (unsigned long long)to);
	r = rnd(4) ? ftruncate(fd, (off_t)to) : truncate(path, (off_t)to);
	if (r)
		fail("truncate: %s", strerror(errno));
	model_truncate(to);
}

static bool no_fallocate;

static int falloc(int how, uint64_t off, uint64_t len, const char *name)
{
	int r;

	note("%s %#llx len %#llx", name, (unsigned long long)off,
	     (unsigned long long)len);
	r = fallocate(fd, how, (off_t)off, (off_t)len);
	if (r && errno == EOPNOTSUPP)
		no_fallocate = true;
	else if (r)
		fail("%s: %s", name, strerror(errno));
	return r;
}

static void op_fallocate(void)
{
	uint64_t off = some_off(max_size), len = some_len(max_size - off);

	if (no_fallocate)
		return;
	switch (rnd(4)) {
	case 0:
		if (!falloc(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
			    len, "punch"))
			memset(model + off, 0, len);
		break;
	case 1:
		if (falloc(FALLOC_FL_ZERO_RANGE, off, len, "zero range"))
			break;
		memset(model + off, 0, len);
		if (off + len > size)
			size = off + len;
		break;
	case 2:
		if (!falloc(0, off, len, "allocate") && off + len > size)
			size = off + len;
		break;
	default:
		falloc(FALLOC_FL_KEEP_SIZE, off, len, "allocate beyond");
	}
}

static void op_collapse(void)
{
	uint64_t off = rnd(size / PAGE + 1) * PAGE, len = (1 + rnd(32)) * PAGE;

	if (no_fallocate)
		return;
	if (rnd(2)) {
		if (off + len >= size || falloc(FALLOC_FL_COLLAPSE_RANGE, off,
						len, "collapse"))
			return;
		model_drop_private(off);
		memmove(model + off, model + off + len, size - off - len);
		memset(model + size - len, 0, len);
		size -= len;
	} else {
		if (off >= size || size + len > max_size ||
		    falloc(FALLOC_FL_INSERT_RANGE, off, len, "insert"))
			return;
		model_drop_private(off);
		memmove(model + off + len, model + off, size - off);
		memset(model + off, 0, len);
		size += len;
	}
}

static void op_copy_range(void)
{
	uint64_t from = some_off(max_size), to = some_off(max_size);
	uint64_t len = some_len(max_size / 4);
	loff_t in, out;
	ssize_t n;

	if (from >= size)
		return;
	len = min(len, min(size - from, max_size - to));
	if (!len || (from < to + len && to < from + len))
		return;
	note("copy_file_range %#llx to %#llx len %#llx",
	     (unsigned long long)from, (unsigned long long)to,
	     (unsigned long long)len);
	in = (loff_t)from;
	out = (loff_t)to;
	n = copy_file_range(fd, &in, fd, &out, len, 0);
	if (n < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == ENOSYS))
		return;
	if (n <= 0)
		fail("copy_file_range: %zd %s", n, strerror(errno));
	memcpy(heap, model + from, (size_t)n);
	model_write(to, heap, (uint64_t)n);
}

static void op_sendfile(void)
{
	uint64_t from = some_off(max_size), len;
	static int out = -1;
	off_t off;
	ssize_t n;

	if (from >= size)
		return;
	if (out < 0)
		out = memfd_create("exerciser", 0);
	if (out < 0)
		fail("memfd_create: %s", strerror(errno));
	len = min(some_len(max_size), size - from);
	note("sendfile %#llx len %#llx", (unsigned long long)from,
	     (unsigned long long)len);
	off = (off_t)from;
	lseek(out, 0, SEEK_SET);
	n = sendfile(out, fd, &off, len);
	expect(n, (ssize_t)len, "sendfile");
	expect(pread(out, buf, len, 0), (ssize_t)len, "pread");
	differ("sendfile", from, model + from, buf, len);
}

static void op_fsync(void)
{
	note("fsync");
	if (rnd(2) ? fsync(fd) : fdatasync(fd))
		fail("fsync: %s", strerror(errno));
}

static void op_reopen(void)
{
	int fresh_fd;

	note("close and open");
	if (rnd(2)) {
		close(fd);
		fd = open(path, O_RDWR);
		if (fd < 0)
			fail("open: %s", strerror(errno));
		return;
	}
	fresh_fd = open(path, O_RDWR);
	if (fresh_fd < 0 || dup2(fresh_fd, fd) != fd)
		fail("dup2: %s", strerror(errno));
	close(fresh_fd);
}

static void op_advise_file(void)
{
	static const int advice[] = { POSIX_FADV_NORMAL, POSIX_FADV_RANDOM,
				      POSIX_FADV_SEQUENTIAL,
				      POSIX_FADV_WILLNEED,
				      POSIX_FADV_DONTNEED };
	int a = advice[rnd(5)];

	note("posix_fadvise %d", a);
	if (posix_fadvise(fd, 0, 0, a))
		fail("posix_fadvise");
}

static void op_stat(void)
{
	struct stat st;

	note("fstat");
	if (fstat(fd, &st) || (uint64_t)st.st_size != size)
		fail("fstat: size %lld, want %llu", (long long)st.st_size,
		     (unsigned long long)size);
}

/* The kernel serves a file for good once it was handed over; only a new file
 * is ours again. */
static void op_new_file(void)
{
	uint64_t len = rnd(4) ? some_len(max_size) : 0;

	note("new file, %#llx bytes", (unsigned long long)len);
	unmap_all();
	close(fd);
	if (unlink(path))
		fail("unlink: %s", strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		fail("open: %s", strerror(errno));
	model_truncate(0);
	fresh(heap, len);
	expect(write(fd, heap, len), (ssize_t)len, "write");
	model_write(0, heap, len);
	gentle = rnd(4) != 0;
}

const struct op file_ops[] = {
	{ "pread", op_pread, 20, false },
	{ "dread", op_direct_read, 5, false },
	{ "write", op_write, 20, false },
	{ "append", op_append, 5, false },
	{ "dwrite", op_direct_write, 4, false },
	{ "writemap", op_write_from_map, 8, false },
	{ "readmap", op_read_into_map, 8, false },
	{ "truncate", op_truncate, 8, false },
	{ "fallocate", op_fallocate, 8, false },
	{ "collapse", op_collapse, 3, false },
	{ "copyrange", op_copy_range, 6, false },
	{ "sendfile", op_sendfile, 4, false },
	{ "fsync", op_fsync, 2, false },
	{ "reopen", op_reopen, 4, false },
	{ "fadvise", op_advise_file, 3, false },
	{ "stat", op_stat, 4, false },
	{ "newfile", op_new_file, 1, false },
	{ NULL, NULL, 0, false },
};
