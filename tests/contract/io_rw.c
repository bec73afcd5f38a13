/* SPDX-License-Identifier: MIT */
/* C09: buffers of the read and write family in mapped memory, in every state
 * a page can be in, and beyond the end of the file. */
#include "ct.h"

#include <sys/uio.h>

#define BIG (600 * PAGE + 123)

static size_t pages; /* of the mapping: what a transfer may touch, and more */

enum state { FRESH, LOADED, STORED };
static const char *const state_name[] = { "fresh", "loaded", "stored" };

/* A new mapping of a new file whose pages are all in one state; every third
 * page is left alone so that transfers cross states. */
static char *mapping(enum state s, size_t n, int *ret_fd)
{
	int fd;
	char *p;

	pages = n / PAGE + 16;
	fd = ct_file("buffer", pages * PAGE);
	p = ct_map(fd, pages * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; s != FRESH && i < pages; i++) {
		if (i % 3 == 2)
			continue;
		if (s == LOADED)
			ct_load(p + i * PAGE);
		else
			p[i * PAGE] = (char)ct_byte(i * PAGE);
	}
	*ret_fd = fd;
	return p;
}

static void unmap(char *p, int fd)
{
	munmap(p, pages * PAGE);
	close(fd);
}

/* The pattern, but of another offset: what a second file holds. */
#define SHIFT 7777u

static int other_file(size_t size)
{
	int fd = open(ct_path("other"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	unsigned char *b = malloc(size);

	for (size_t i = 0; i < size; i++)
		b[i] = ct_byte(i + SHIFT);
	ct_pwrite(fd, b, size, 0);
	free(b);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static bool file_matches(int fd, size_t len, uint64_t off)
{
	unsigned char *b = malloc(len + 1);
	bool ok = pread(fd, b, len + 1, 0) == (ssize_t)len &&
		  ct_matches(b, len, off);

	free(b);
	return ok;
}

typedef ssize_t (*io_fn)(int fd, void *buf, size_t n);

static ssize_t io_read(int fd, void *b, size_t n) { return read(fd, b, n); }
static ssize_t io_pread(int fd, void *b, size_t n)
{
	return pread(fd, b, n, 0);
}
static ssize_t io_readv(int fd, void *b, size_t n)
{
	struct iovec v[3] = { { b, n / 3 },
			      { (char *)b + n / 3, n / 3 },
			      { (char *)b + n / 3 * 2, n - n / 3 * 2 } };

	return readv(fd, v, 3);
}
static ssize_t io_preadv2(int fd, void *b, size_t n)
{
	struct iovec v = { b, n };

	return preadv2(fd, &v, 1, 0, 0);
}
static ssize_t io_preadv(int fd, void *b, size_t n)
{
	struct iovec v[100];

	for (size_t i = 0; i < 100; i++)
		v[i] = (struct iovec){ (char *)b + n / 100 * i,
				       i < 99 ? n / 100 : n - n / 100 * 99 };
	return preadv(fd, v, 100, 0);
}
static ssize_t io_write(int fd, void *b, size_t n) { return write(fd, b, n); }
static ssize_t io_pwrite(int fd, void *b, size_t n)
{
	return pwrite(fd, b, n, 0);
}
static ssize_t io_writev(int fd, void *b, size_t n)
{
	struct iovec v[3] = { { b, n / 3 },
			      { (char *)b + n / 3, n / 3 },
			      { (char *)b + n / 3 * 2, n - n / 3 * 2 } };

	return writev(fd, v, 3);
}
static ssize_t io_pwritev(int fd, void *b, size_t n)
{
	struct iovec v[100];

	for (size_t i = 0; i < 100; i++)
		v[i] = (struct iovec){ (char *)b + n / 100 * i,
				       i < 99 ? n / 100 : n - n / 100 * 99 };
	return pwritev(fd, v, 100, 0);
}
static ssize_t io_pwritev2(int fd, void *b, size_t n)
{
	struct iovec v = { b, n };

	return pwritev2(fd, &v, 1, -1, 0);
}

static const struct {
	const char *name;
	io_fn fn;
	bool in;
} calls[] = {
	{ "read", io_read, true },	 { "pread", io_pread, true },
	{ "readv", io_readv, true },	 { "preadv", io_preadv, true },
	{ "preadv2", io_preadv2, true }, { "write", io_write, false },
	{ "pwrite", io_pwrite, false },	 { "writev", io_writev, false },
	{ "pwritev", io_pwritev, false }, { "pwritev2", io_pwritev2, false },
};

static const size_t sizes[] = { 1, 100, PAGE, PAGE + 1, 5 * PAGE + 7, BIG };

static void one(unsigned c, enum state s, size_t n)
{
	const size_t at = PAGE - 50;
	int mfd, fd;
	char *p = mapping(s, n, &mfd);
	ssize_t r;
	bool ok;

	errno = 0;
	if (calls[c].in) {
		fd = other_file(n);
		r = calls[c].fn(fd, p + at, n);
		ok = ct_matches(p + at, n, SHIFT) && ct_matches(p, at, 0) &&
		     ct_matches(p + at + n, PAGE, at + n);
	} else {
		fd = other_file(0);
		r = calls[c].fn(fd, p + at, n);
		ok = file_matches(fd, n, at);
	}
	say("C09 %s %s %zu: %zd errno %d data %d", calls[c].name,
	    state_name[s], n, r, errno, ok);
	close(fd);
	unmap(p, mfd);
}

/* Of what takes longest: each way to hand over buffers, and each state, once;
 * in a full run each call. */
static bool is_big(unsigned c, enum state s)
{
	if (ct_rounds(0, 1))
		return s == LOADED || c < 2;
	return calls[c].fn == io_read ||
	       (s == LOADED &&
		(calls[c].fn == io_preadv || calls[c].fn == io_write ||
		 calls[c].fn == io_pwritev));
}

/* The file ends within the third page; the mapping has six. */
static void beyond(unsigned c)
{
	const size_t end = 2 * PAGE + 100;
	int mfd = ct_file("short", end);
	char *p = ct_map(mfd, 6 * PAGE, RW, MAP_SHARED, 0);
	int fd = other_file(calls[c].in ? 6 * PAGE : 0);
	ssize_t r;

	r = calls[c].fn(fd, p + PAGE + 10, 4 * PAGE);
	say("C09 %s across the end: %zd", calls[c].name, r);
	if (calls[c].in)
		say("C09 ... data %d",
		    ct_matches(p + PAGE + 10, PAGE + 90, SHIFT));
	else
		say("C09 ... data %d", ct_matches(p, end, 0));
	lseek(fd, 0, SEEK_SET);
	errno = 0;
	r = calls[c].fn(fd, p + 3 * PAGE, PAGE);
	say("C09 %s beyond the end: %zd %s", calls[c].name, r, ct_errno(r < 0));
	munmap(p, 6 * PAGE);
	close(fd);
	close(mfd);
}

static void read_only(void)
{
	int mfd = ct_file("ro", 4 * PAGE), fd = other_file(4 * PAGE);
	char *p = ct_map(mfd, 4 * PAGE, PROT_READ, MAP_SHARED, 0);
	char *q = ct_map(mfd, 4 * PAGE, RW, MAP_PRIVATE, 0);
	struct iovec *v;

	say_rc("C09 read into read-only memory", pread(fd, p, 10, 0));
	say("C09 unchanged: %d", ct_matches(p, 4 * PAGE, 0));
	say("C09 read into a private mapping: %zd",
	    pread(fd, q + 5, 2 * PAGE, 0));
	say("C09 private copy: %d, file: %d",
	    ct_matches(q + 5, 2 * PAGE, SHIFT), ct_matches(p, 4 * PAGE, 0));
	v = (struct iovec *)(q + 3 * PAGE); /* the array itself is mapped */
	v[0] = (struct iovec){ q, 10 };
	v[1] = (struct iovec){ q + PAGE, 20 };
	madvise(p, 4 * PAGE, MADV_DONTNEED);
	say("C09 array in mapped memory: %zd", preadv(fd, v, 2, 0));
	say_rc("C09 bad descriptor", pread(-1, q, 10, 0));
	say_rc("C09 negative offset", pread(fd, q, 10, -1));
	say_rc("C09 zero bytes", pread(fd, q, 0, 0));
	munmap(p, 4 * PAGE);
	munmap(q, 4 * PAGE);
	close(fd);
	close(mfd);
}

/* timeout: 480 */
int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (unsigned c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		for (enum state s = FRESH; s <= STORED; s++)
			for (unsigned i = 0;
			     i < sizeof(sizes) / sizeof(sizes[0]); i++)
				if (sizes[i] != BIG || is_big(c, s))
					one(c, s, sizes[i]);
		beyond(c);
	}
	read_only();
	return 0;
}
