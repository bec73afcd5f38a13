/* SPDX-License-Identifier: MIT */
/*
 * exerciser.c - random mixes of mapped access and file system calls on one
 * file, compared after every step with a model in memory.
 *
 *   exerciser FILE [-r seed] [-n operations] [-s KiB largest size]
 *             [-x skip,skip,...] [-q]
 *
 * Single-threaded, so that every byte has exactly one right value. Runs
 * natively as well, which is how the model itself is tested. The first
 * difference ends the run with the operations that led to it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define MAPS 5
#define HISTORY 48

/* One mapping and, when private, the model of its own copies. */
struct map {
	char *addr;       /* NULL: free slot */
	size_t len;
	uint64_t off;
	bool shared;
	bool readonly;
	uint8_t *own;     /* private: page was stored to */
	char *copy;       /* private: its bytes */
};

static const char *path;
static uint64_t seed = 1, n_ops = 20000, max_size = 8 << 20;
static const char *skip = "";
static bool quiet;

static int fd;
static char *model;          /* max_size bytes */
static uint64_t size;        /* of the file */
static char *buf;            /* max_size bytes of scratch */
static char *heap;           /* what is written */
static struct map maps[MAPS];
static uint64_t op_no;
static uint64_t state;
static char history[HISTORY][160];

static sigjmp_buf escape;
static volatile sig_atomic_t armed, caught;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state * 0x2545f4914f6cdd1dull >> 11) % below : 0;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t page_up(uint64_t x)
{
	return (x + PAGE - 1) & ~(PAGE - 1);
}

static void note(const char *fmt, ...)
{
	char *h = history[op_no % HISTORY];
	va_list ap;
	int n = snprintf(h, sizeof(history[0]), "%llu: ",
			 (unsigned long long)op_no);

	va_start(ap, fmt);
	vsnprintf(h + n, sizeof(history[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	if (!quiet && getenv("EXERCISER_TRACE"))
		fprintf(stderr, "%s\n", h);
}

static void fail(const char *fmt, ...) __attribute__((noreturn));
static void fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "exerciser: seed %llu operation %llu: ",
		(unsigned long long)seed, (unsigned long long)op_no);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nfile size %llu, last operations:\n",
		(unsigned long long)size);
	for (uint64_t i = op_no >= HISTORY ? op_no - HISTORY + 1 : 0; i <= op_no; i++)
		fprintf(stderr, "  %s\n", history[i % HISTORY]);
	for (int i = 0; i < MAPS; i++)
		if (maps[i].addr)
			fprintf(stderr, "  map %d: %s%s off %#llx len %#zx at %p\n", i,
				maps[i].shared ? "shared" : "private",
				maps[i].readonly ? " read-only" : "",
				(unsigned long long)maps[i].off, maps[i].len,
				(void *)maps[i].addr);
	exit(1);
}

static void differ(const char *via, uint64_t off, const char *want,
		   const char *got, size_t len)
{
	size_t i = 0, last = len;

	while (i < len && want[i] == got[i])
		i++;
	if (i == len)
		return;
	while (last > i && want[last - 1] == got[last - 1])
		last--;
	fail("%s: differs at %#llx (page %llu+%llu) up to %#llx: want %02x got %02x",
	     via, (unsigned long long)(off + i),
	     (unsigned long long)((off + i) / PAGE),
	     (unsigned long long)((off + i) % PAGE),
	     (unsigned long long)(off + last), (unsigned char)want[i],
	     (unsigned char)got[i]);
}

static void on_signal(int sig)
{
	if (!armed) {
		static const char msg[] = "exerciser: unexpected signal\n";

		if (write(2, msg, sizeof(msg) - 1) < 0) {}
		fail("signal %d", sig);
	}
	caught = sig;
	siglongjmp(escape, 1);
}

static void fresh(char *to, uint64_t len)
{
	uint64_t x = state | 1;

	for (uint64_t i = 0; i < len; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		to[i] = (char)(x >> 56);
	}
	rnd(0);
}

/* Lengths: mostly small, sometimes a lot. */
static uint64_t some_len(uint64_t most)
{
	uint64_t n;

	switch (rnd(8)) {
	case 0:
		n = rnd(max_size / 4);
		break;
	case 1:
	case 2:
		n = rnd(16 * PAGE);
		break;
	default:
		n = rnd(3000);
	}
	return min(n + 1, most);
}

static uint64_t some_off(uint64_t below)
{
	uint64_t o = rnd(below);

	if (rnd(4) == 0)
		o &= ~(PAGE - 1);
	return o;
}

/* ---- the model ---------------------------------------------------------- */

/* Bytes of the file beyond its end are zero in the model at all times. */
static void model_write(uint64_t off, const char *from, uint64_t len)
{
	memcpy(model + off, from, len);
	if (off + len > size)
		size = off + len;
}

/* Truncation takes private copies that lie wholly beyond the end as well. */
static void model_drop_private(uint64_t from)
{
	from = page_up(from);
	for (int i = 0; i < MAPS; i++) {
		struct map *m = &maps[i];

		if (!m->addr || m->shared)
			continue;
		for (uint64_t p = 0; p < m->len / PAGE; p++)
			if (m->off + p * PAGE >= from)
				m->own[p] = 0;
	}
}

static void model_truncate(uint64_t to)
{
	if (to < size) {
		memset(model + to, 0, size - to);
		model_drop_private(to);
	}
	size = to;
}

/* ---- mapped access ------------------------------------------------------- */

static uint64_t map_valid(const struct map *m)
{
	uint64_t end = page_up(size);

	if (end <= m->off)
		return 0;
	return min(m->len, end - m->off);
}

static struct map *some_map(void)
{
	struct map *m = &maps[rnd(MAPS)];

	for (int i = 0; i < MAPS && !m->addr; i++)
		m = &maps[((m - maps) + 1) % MAPS];
	return m->addr ? m : NULL;
}

static void check_page(struct map *m, uint64_t p)
{
	uint64_t off = m->off + p * PAGE;
	char name[32];

	snprintf(name, sizeof(name), "map %d", (int)(m - maps));
	if (!m->shared && m->own[p])
		differ(name, off, m->copy + p * PAGE, m->addr + p * PAGE, PAGE);
	else
		differ(name, off, model + off, m->addr + p * PAGE, PAGE);
}

static void op_map_read(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0, first, n;

	if (!valid)
		return;
	first = rnd(valid / PAGE);
	n = min(1 + some_len(max_size) / PAGE, valid / PAGE - first);
	note("load map %d page %llu n %llu", (int)(m - maps),
	     (unsigned long long)first, (unsigned long long)n);
	for (uint64_t p = first; p < first + n; p++)
		check_page(m, p);
}

static void own_page(struct map *m, uint64_t p)
{
	if (m->own[p])
		return;
	m->own[p] = 1;
	memcpy(m->copy + p * PAGE, model + m->off + p * PAGE, PAGE);
}

static void op_map_store(void)
{
	struct map *m = some_map();
	uint64_t at, len;

	if (!m || m->readonly || size <= m->off)
		return;
	/* Not beyond the end: such bytes are gone at an unspecified time. */
	at = some_off(min(m->len, size - m->off));
	len = some_len(min(m->len, size - m->off) - at);
	note("store map %d at file %#llx len %#llx", (int)(m - maps),
	     (unsigned long long)(m->off + at), (unsigned long long)len);
	fresh(heap, len);
	memcpy(m->addr + at, heap, len);
	if (m->shared) {
		memcpy(model + m->off + at, heap, len);
		return;
	}
	for (uint64_t p = at / PAGE; p <= (at + len - 1) / PAGE; p++)
		own_page(m, p);
	memcpy(m->copy + at, heap, len);
}

static int touch(volatile char *p, bool write)
{
	caught = 0;
	armed = 1;
	if (!sigsetjmp(escape, 1)) {
		if (write)
			*p = 1;
		else
			(void)*p;
	}
	armed = 0;
	return caught;
}

static void op_beyond(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0, at;
	bool write = m && !m->readonly && rnd(2);
	int sig;

	if (!m || valid >= m->len)
		return;
	at = valid + rnd(m->len - valid);
	note("beyond the end: map %d %s at file %#llx", (int)(m - maps),
	     write ? "store" : "load", (unsigned long long)(m->off + at));
	sig = touch(m->addr + at, write);
	if (sig != SIGBUS)
		fail("access beyond the end: signal %d, want SIGBUS", sig);
}

static void op_readonly_store(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0;
	int sig;

	if (!valid || !m->readonly)
		return;
	note("store to read-only map %d", (int)(m - maps));
	sig = touch(m->addr + rnd(valid), true);
	if (sig != SIGSEGV)
		fail("store to a read-only page: signal %d, want SIGSEGV", sig);
}

/* ---- mappings ------------------------------------------------------------ */

static void map_forget(struct map *m)
{
	free(m->own);
	free(m->copy);
	memset(m, 0, sizeof(*m));
}

static void map_model(struct map *m, char *addr, size_t len, uint64_t off,
		      bool shared)
{
	*m = (struct map){ .addr = addr, .len = len, .off = off,
			   .shared = shared };
	if (shared)
		return;
	m->own = calloc(len / PAGE, 1);
	m->copy = malloc(len);
	if (!m->own || !m->copy)
		fail("out of memory");
}

static void op_mmap(void)
{
	struct map *m = &maps[rnd(MAPS)];
	bool shared = rnd(4) != 0;
	uint64_t off = rnd(max_size / PAGE) * PAGE;
	size_t len;
	char *p;

	if (m->addr || rnd(4) == 0)
		return;
	if (rnd(3) == 0)
		off = 0;
	len = (1 + rnd((max_size - off) / PAGE)) * PAGE;
	note("mmap %d %s off %#llx len %#zx", (int)(m - maps),
	     shared ? "shared" : "private", (unsigned long long)off, len);
	p = mmap(NULL, len - rnd(PAGE), PROT_READ | PROT_WRITE,
		 (shared ? MAP_SHARED : MAP_PRIVATE) |
		 (shared && rnd(16) == 0 ? MAP_POPULATE : 0), fd, (off_t)off);
	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	map_model(m, p, len, off, shared);
}

static void op_munmap(void)
{
	struct map *m = some_map();

	if (!m || rnd(3))
		return;
	note("munmap %d", (int)(m - maps));
	if (munmap(m->addr, m->len))
		fail("munmap: %s", strerror(errno));
	map_forget(m);
}

/* Unmap the tail, or split: unmap the middle and keep the head. */
static void op_munmap_part(void)
{
	struct map *m = some_map();
	uint64_t keep;

	if (!m || m->len < 2 * PAGE || rnd(2))
		return;
	keep = (1 + rnd(m->len / PAGE - 1)) * PAGE;
	note("munmap %d tail from %#llx", (int)(m - maps),
	     (unsigned long long)keep);
	if (munmap(m->addr + keep, m->len - keep))
		fail("munmap: %s", strerror(errno));
	m->len = keep;
}

static void op_mremap(void)
{
	struct map *m = some_map();
	size_t len;
	char *p;

	if (!m || (!m->shared && m->len == max_size))
		return;
	len = (1 + rnd((max_size - m->off) / PAGE)) * PAGE;
	if (!m->shared && len > m->len)
		return; /* the model's copies do not grow */
	note("mremap %d %#zx to %#zx", (int)(m - maps), m->len, len);
	p = mremap(m->addr, m->len, len, MREMAP_MAYMOVE);
	if (p == MAP_FAILED && errno == EFAULT)
		return; /* advice has split it into several: the kernel's answer */
	if (p == MAP_FAILED)
		fail("mremap: %s", strerror(errno));
	m->addr = p;
	m->len = len;
}

static void op_mprotect(void)
{
	struct map *m = some_map();

	if (!m)
		return;
	m->readonly = !m->readonly;
	note("mprotect %d %s", (int)(m - maps), m->readonly ? "r" : "rw");
	if (mprotect(m->addr, m->len, m->readonly ? PROT_READ :
		     PROT_READ | PROT_WRITE))
		fail("mprotect: %s", strerror(errno));
}

static void op_map_over(void)
{
	struct map *m = some_map();
	uint64_t first;
	size_t n;

	if (!m || !m->shared || m->readonly)
		return;
	first = rnd(m->len / PAGE);
	n = 1 + rnd(min(64, m->len / PAGE - first));
	note("mmap fixed over map %d page %llu n %zu", (int)(m - maps),
	     (unsigned long long)first, n);
	if (mmap(m->addr + first * PAGE, n * PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd,
		 (off_t)(m->off + first * PAGE)) == MAP_FAILED)
		fail("mmap fixed: %s", strerror(errno));
}

static void op_madvise(void)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT,
	};
	int a = advice[rnd(7)];
	struct map *m = some_map();
	uint64_t first, n;

	if (!m)
		return;
	first = rnd(m->len / PAGE);
	n = 1 + rnd(m->len / PAGE - first);
	note("madvise %d map %d page %llu n %llu", a, (int)(m - maps),
	     (unsigned long long)first, (unsigned long long)n);
	if (madvise(m->addr + first * PAGE, n * PAGE, a))
		fail("madvise: %s", strerror(errno));
	if (a == MADV_DONTNEED && !m->shared)
		memset(m->own + first, 0, n);
}

static void op_msync(void)
{
	struct map *m = some_map();
	static const int how[] = { MS_SYNC, MS_ASYNC, MS_ASYNC, MS_INVALIDATE };
	int f = how[rnd(4)];

	if (!m)
		return;
	note("msync %d flags %d", (int)(m - maps), f);
	if (msync(m->addr, m->len, f))
		fail("msync: %s", strerror(errno));
}

/* ---- file system calls ---------------------------------------------------- */

static void expect(ssize_t got, ssize_t want, const char *what)
{
	if (got != want)
		fail("%s: returned %zd (%s), want %zd", what, got,
		     got < 0 ? strerror(errno) : "ok", want);
}

static void op_pread(void)
{
	uint64_t off = some_off(max_size), len = some_len(max_size - off);
	uint64_t want = off < size ? min(len, size - off) : 0;
	struct iovec v[2] = { { buf, len / 3 }, { buf + len / 3, len - len / 3 } };
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
	struct iovec v[2] = { { heap, len / 3 }, { heap + len / 3, len - len / 3 } };
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
	expect(pwrite(d, heap, len, (off_t)off), (ssize_t)len, "O_DIRECT write");
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
		if (!falloc(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len,
			    "punch"))
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
		POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED };
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

/* ---- everything ------------------------------------------------------------ */

static void check_all(void)
{
	expect(pread(fd, buf, max_size, 0), (ssize_t)size, "pread all");
	differ("pread all", 0, model, buf, size);
	for (int i = 0; i < MAPS; i++)
		for (uint64_t p = 0; maps[i].addr && p < map_valid(&maps[i]) / PAGE; p++)
			check_page(&maps[i], p);
}

static void op_check_all(void)
{
	note("check all");
	check_all();
}

/* A child sees all of it; its stores to private maps stay its own. */
static void op_fork(void)
{
	int status;
	pid_t pid;

	note("fork");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid == 0) {
		check_all();
		for (int i = 0; i < MAPS; i++)
			if (maps[i].addr && !maps[i].shared &&
			    !maps[i].readonly && map_valid(&maps[i]))
				memset(maps[i].addr, 0x5a, PAGE);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("child: status %#x", status);
}

static const struct op {
	const char *name;
	void (*run)(void);
	unsigned weight;
} ops[] = {
	{ "load", op_map_read, 60 },
	{ "store", op_map_store, 60 },
	{ "beyond", op_beyond, 6 },
	{ "rostore", op_readonly_store, 3 },
	{ "mmap", op_mmap, 12 },
	{ "munmap", op_munmap, 6 },
	{ "munmappart", op_munmap_part, 3 },
	{ "mremap", op_mremap, 6 },
	{ "mprotect", op_mprotect, 6 },
	{ "mapover", op_map_over, 4 },
	{ "madvise", op_madvise, 10 },
	{ "msync", op_msync, 5 },
	{ "pread", op_pread, 20 },
	{ "dread", op_direct_read, 5 },
	{ "write", op_write, 20 },
	{ "append", op_append, 5 },
	{ "dwrite", op_direct_write, 4 },
	{ "writemap", op_write_from_map, 8 },
	{ "readmap", op_read_into_map, 8 },
	{ "truncate", op_truncate, 8 },
	{ "fallocate", op_fallocate, 8 },
	{ "collapse", op_collapse, 3 },
	{ "copyrange", op_copy_range, 6 },
	{ "sendfile", op_sendfile, 4 },
	{ "fsync", op_fsync, 2 },
	{ "reopen", op_reopen, 4 },
	{ "fadvise", op_advise_file, 3 },
	{ "stat", op_stat, 4 },
	{ "fork", op_fork, 1 },
	{ "checkall", op_check_all, 2 },
};
#define NOPS (sizeof(ops) / sizeof(*ops))

static bool skipped(const char *name)
{
	size_t n = strlen(name);

	for (const char *p = skip; (p = strstr(p, name)); p += n)
		if ((p == skip || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static const struct op *some_op(void)
{
	unsigned total = 0, r;

	for (size_t i = 0; i < NOPS; i++)
		total += ops[i].weight;
	for (;;) {
		const struct op *o = ops;

		for (r = (unsigned)rnd(total); r >= o->weight; o++)
			r -= o->weight;
		if (!skipped(o->name))
			return o;
	}
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:n:s:x:q")) != -1) {
		if (c == 'r')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			n_ops = strtoull(optarg, NULL, 0);
		else if (c == 's')
			max_size = strtoull(optarg, NULL, 0) << 10;
		else if (c == 'x')
			skip = optarg;
		else if (c == 'q')
			quiet = true;
		else
			exit(2);
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: exerciser [-r seed] [-n operations] [-s KiB] [-x skip,...] [-q] FILE\n");
		exit(2);
	}
	path = argv[optind];
}

static void *zeroed(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}

int main(int argc, char **argv)
{
	options(argc, argv);
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	model = zeroed(max_size + PAGE);
	buf = zeroed(max_size + PAGE);
	heap = zeroed(max_size + PAGE);
	catch_signals();
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	for (op_no = 0; op_no < n_ops; op_no++) {
		note("-");
		some_op()->run();
	}
	check_all();
	for (int i = 0; i < MAPS; i++)
		if (maps[i].addr && munmap(maps[i].addr, maps[i].len))
			fail("munmap: %s", strerror(errno));
	memset(maps, 0, sizeof(maps));
	check_all();
	if (!quiet)
		printf("exerciser: seed %llu, %llu operations: ok\n",
		       (unsigned long long)seed, (unsigned long long)n_ops);
	return 0;
}
