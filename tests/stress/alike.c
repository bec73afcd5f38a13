/* SPDX-License-Identifier: MIT */
/*
 * alike.c - random calls of one thread on mappings of two files, some of them
 * from the one to the other. What each call and each touch gave goes to stdout,
 * and now and then all that can be seen: a run with the library must say what a
 * run without it says.
 *
 *   alike [-r seed] [-n operations] DIR
 *
 * Unlike differ, which has processes and threads beside it, it touches what is
 * beyond the end and what may not be touched, and says which signal that gave.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
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
#define PAGES 64ul /* of each file, in the beginning */
#define SIZE (PAGES * PAGE)
#define SLOTS 4
#define RW (PROT_READ | PROT_WRITE)

static struct slot {
	char *p;
	size_t n; /* pages */
	size_t off;
	int file, prot;
	bool shared, advised; /* in parts: the kernel may hold several */
} slots[SLOTS];

static const char *const names[] = { "alike.a", "alike.b" };
static int fds[2], out, pipes[2];
static char *heap; /* 4 times SIZE, of no file */
static uint64_t luck, sum;

static sigjmp_buf escape;
static volatile sig_atomic_t armed;

/* ---- luck, and what is said --------------------------------------------- */

static size_t draw(size_t below)
{
	luck = luck * 6364136223846793005ull + 1442695040888963407ull;
	return (size_t)(luck >> 33) % below;
}

static void note(uint64_t x)
{
	sum = (sum ^ x) * 0x100000001b3ull;
}

static void note_bytes(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		note((unsigned char)p[i]);
}

static void result(long r)
{
	printf(" %ld", r < 0 ? -(long)errno : r);
	note((uint64_t)r);
}

static void on_signal(int sig)
{
	if (!armed)
		_exit(99);
	siglongjmp(escape, sig);
}

static void touch(char *p, bool store)
{
	int sig = sigsetjmp(escape, 0);

	armed = 1;
	if (sig)
		note((uint64_t)sig << 8);
	else if (store)
		*(volatile char *)p = (char)draw(256);
	else
		note((unsigned char)*(volatile char *)p);
	armed = 0;
}

/* ---- what a call is about ----------------------------------------------- */

/* A slot, pages of it, a place within them, and a part of a file. */
static struct about {
	struct slot *s;
	size_t page, pages; /* of the slot */
	char *at;           /* in the first of these */
	size_t left;        /* wanted bytes from there that are the slot's */
	int file;
	off_t from, to;
	size_t len;
} a;

static size_t file_size(int f)
{
	struct stat st;

	return fstat(fds[f], &st) ? 0 : (size_t)st.st_size;
}

static void choose(void)
{
	size_t left;

	a.s = &slots[draw(SLOTS)];
	a.file = (int)draw(2);
	a.page = draw(a.s->n);
	a.pages = 1 + draw(a.s->n - a.page);
	a.at = a.s->p + a.page * PAGE + draw(PAGE);
	a.from = (off_t)draw(SIZE);
	a.to = (off_t)draw(SIZE);
	a.len = 1 + draw(3 * PAGE);
	left = (size_t)(a.s->p + a.s->n * PAGE - a.at);
	a.left = a.len < left ? a.len : left;
}

static char *first_page(void)
{
	return a.s->p + a.page * PAGE;
}

static int kind(const struct slot *s)
{
	return s->shared ? MAP_SHARED : MAP_PRIVATE;
}

static void lay(struct slot *s)
{
	*s = (struct slot){ .file = (int)draw(2), .n = 1 + draw(PAGES),
			    .shared = draw(4), .off = draw(4) ? 0 : draw(32),
			    .prot = draw(4) ? RW : PROT_READ };
	s->p = mmap(NULL, s->n * PAGE, s->prot, kind(s), fds[s->file],
		    (off_t)(s->off * PAGE));
	if (s->p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
}

/* ---- touches, and the file ---------------------------------------------- */

static void op_touch(void)
{
	const bool store = draw(5) < 3;

	for (int i = 0; i < 8; i++)
		touch(a.s->p + draw(a.s->n * PAGE), store);
}

static void op_pread(void)
{
	memset(heap, 0, a.len);
	result(pread(fds[a.file], heap, a.len, a.from));
	note_bytes(heap, a.len);
}

static void op_pwrite(void)
{
	memset(heap, (int)draw(256), a.len);
	result(pwrite(fds[a.file], heap, a.len, a.from));
}

static void op_append(void)
{
	const int fd = open(names[a.file], O_WRONLY | O_APPEND);

	if (file_size(a.file) < 2 * SIZE)
		result(write(fd, a.at, a.left < 100 ? a.left : 100));
	close(fd);
}

static void op_truncate(void)
{
	result(ftruncate(fds[a.file], (off_t)(draw(3) ? 1 + draw(SIZE) :
							SIZE)));
}

static void op_fallocate(void)
{
	static const int modes[] = {
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE, 0,
	};

	result(fallocate(fds[a.file], modes[draw(4)], a.from, (off_t)a.len));
}

static void op_shift(void)
{
	const off_t at = (off_t)(draw(4) * PAGE), n = (off_t)(PAGE << draw(2));
	const size_t size = file_size(a.file);
	const bool in = draw(2);

	if (size > 8 * PAGE && size < 2 * SIZE)
		result(fallocate(fds[a.file], in ? FALLOC_FL_INSERT_RANGE :
				 FALLOC_FL_COLLAPSE_RANGE, at, n));
}

/* ---- between the files -------------------------------------------------- */

/* A mapping is the buffer, of the other file: in itself the order in which
 * bytes move is the kernel's. */
static void op_through(void)
{
	const int fd = fds[!a.s->file];

	result(draw(2) ? pread(fd, a.at, a.left, a.from) :
			 pwrite(fd, a.at, a.left, a.from));
}

static void op_vector(void)
{
	struct iovec v[3] = { { heap, draw(PAGE) }, { a.at, a.left / 2 },
			      { heap + PAGE, draw(PAGE) } };
	const int fd = fds[!a.s->file];

	memset(heap, 7, 2 * PAGE);
	result(draw(2) ? preadv(fd, v, 3, a.from) : pwritev(fd, v, 3, a.from));
	note_bytes(heap, 2 * PAGE);
}

static void op_copy(void)
{
	result(copy_file_range(fds[a.file], &a.from, fds[!a.file], &a.to,
			       a.len, 0));
}

static void op_send(void)
{
	lseek(out, 0, SEEK_SET);
	result(sendfile(out, fds[a.file], &a.from, a.len));
	memset(heap, 0, a.len);
	if (pread(out, heap, a.len, 0) > 0)
		note_bytes(heap, a.len);
}

static void drain_pipe(void)
{
	ssize_t n;

	while ((n = read(pipes[0], heap, PAGE)) > 0)
		note_bytes(heap, (size_t)n);
}

static void op_splice(void)
{
	result(splice(fds[a.file], &a.from, pipes[1], NULL, a.len, 0));
	if (draw(2))
		result(splice(pipes[0], NULL, fds[!a.file], &a.to, a.len,
			      SPLICE_F_NONBLOCK));
	drain_pipe();
}

static void op_vmsplice(void)
{
	struct iovec v = { a.at, a.left };

	result(vmsplice(pipes[1], &v, 1, SPLICE_F_NONBLOCK));
	drain_pipe();
}

static void op_process_vm(void)
{
	struct iovec mine = { heap, a.left }, its = { a.at, a.left };

	memset(heap, 9, a.left);
	result(draw(2) ?
		       process_vm_readv(getpid(), &mine, 1, &its, 1, 0) :
		       process_vm_writev(getpid(), &mine, 1, &its, 1, 0));
	note_bytes(heap, a.left);
}

/* ---- the mappings ------------------------------------------------------- */

static void op_msync(void)
{
	result(msync(first_page(), a.pages * PAGE,
		     draw(2) ? MS_SYNC : MS_ASYNC));
}

static void op_madvise(void)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_FREE, MADV_REMOVE,
		22 /* POPULATE_READ */, 23 /* POPULATE_WRITE */,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE,
	};

	a.s->advised = true;
	result(madvise(first_page(), a.pages * PAGE, advice[draw(13)]));
}

static void op_mprotect(void)
{
	result(mprotect(first_page(), a.pages * PAGE,
			draw(2) ? PROT_READ : RW));
}

static void op_mremap(void)
{
	const size_t n = 1 + draw(2 * PAGES);
	char *p;

	if (a.s->advised) /* where the kernel says EFAULT it moves */
		return;
	p = mremap(a.s->p, a.s->n * PAGE, n * PAGE, MREMAP_MAYMOVE);
	result(p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	a.s->p = p;
	a.s->n = n;
}

static void op_again(void)
{
	munmap(a.s->p, a.s->n * PAGE);
	lay(a.s);
}

static void op_over(void)
{
	result(mmap(first_page(), PAGE, a.s->prot, kind(a.s) | MAP_FIXED,
		    fds[a.s->file], (off_t)(draw(PAGES) * PAGE)) == MAP_FAILED ?
		       -1 : 0);
}

static void op_lock(void)
{
	result(mlock(first_page(), PAGE));
	munlock(first_page(), PAGE);
}

static void op_double(void)
{
	char *p;

	if (!a.s->shared || a.s->advised)
		return;
	p = mremap(a.s->p, 0, a.s->n * PAGE, MREMAP_MAYMOVE);
	if (p != MAP_FAILED)
		munmap(p, a.s->n * PAGE);
}

static void op_fork(void)
{
	pid_t pid;
	int st;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		sum = 0;
		for (size_t i = 0; i < 8; i++)
			touch(a.s->p + draw(a.s->n * PAGE), i % 2);
		_exit((int)(sum % 200));
	}
	waitpid(pid, &st, 0);
	result(st);
}

/* ---- all of it ---------------------------------------------------------- */

static const struct op {
	const char *name;
	unsigned weight;
	void (*run)(void);
} ops[] = {
	{ "touch", 10, op_touch }, { "pread", 2, op_pread },
	{ "pwrite", 2, op_pwrite }, { "append", 1, op_append },
	{ "truncate", 2, op_truncate }, { "fallocate", 3, op_fallocate },
	{ "shift", 2, op_shift }, { "through", 4, op_through },
	{ "vector", 2, op_vector }, { "copy", 1, op_copy },
	{ "send", 1, op_send }, { "splice", 1, op_splice },
	{ "vmsplice", 1, op_vmsplice }, { "process_vm", 2, op_process_vm },
	{ "msync", 2, op_msync }, { "madvise", 4, op_madvise },
	{ "mprotect", 2, op_mprotect }, { "mremap", 2, op_mremap },
	{ "again", 2, op_again }, { "over", 2, op_over },
	{ "fork", 1, op_fork }, { "lock", 1, op_lock },
	{ "double", 1, op_double },
};
#define OPS (sizeof(ops) / sizeof(*ops))

static const struct op *choose_op(void)
{
	unsigned all = 0, r;
	size_t k = 0;

	for (size_t i = 0; i < OPS; i++)
		all += ops[i].weight;
	for (r = (unsigned)draw(all); r >= ops[k].weight; k++)
		r -= ops[k].weight;
	return &ops[k];
}

static void look(void)
{
	for (int k = 0; k < SLOTS; k++)
		for (size_t i = 0; i < slots[k].n * PAGE; i += 509)
			touch(slots[k].p + i, false);
	for (int f = 0; f < 2; f++) {
		const ssize_t n = pread(fds[f], heap, 4 * SIZE, 0);

		note((uint64_t)n);
		for (ssize_t i = 0; i < n; i += 61)
			note((unsigned char)heap[i]);
	}
}

static void begin(const char *dir, uint64_t seed)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_NODEFER };

	luck = seed * 0x9e3779b97f4a7c15ull | 1;
	heap = malloc(4 * SIZE);
	if (chdir(dir) || !heap || pipe2(pipes, O_NONBLOCK))
		exit(2);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	out = open("alike.out", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int f = 0; f < 2; f++) {
		fds[f] = open(names[f], O_RDWR | O_CREAT | O_TRUNC, 0644);
		for (size_t i = 0; i < SIZE; i++)
			heap[i] = (char)(i / PAGE + i + (size_t)f);
		if (write(fds[f], heap, SIZE) != (ssize_t)SIZE)
			exit(2);
		fsync(fds[f]);
		posix_fadvise(fds[f], 0, 0, POSIX_FADV_DONTNEED);
	}
	for (int k = 0; k < SLOTS; k++)
		lay(&slots[k]);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, rounds = 300;
	const struct op *o;
	int c;

	while ((c = getopt(argc, argv, "r:n:")) != -1)
		*(c == 'r' ? &seed : &rounds) = strtoull(optarg, NULL, 0);
	if (optind != argc - 1) {
		fputs("usage: alike [-r seed] [-n operations] DIR\n", stderr);
		return 2;
	}
	begin(argv[optind], seed);
	for (uint64_t i = 0; i < rounds; i++) {
		o = choose_op();
		choose();
		printf("%lu %s slot %d page %zu+%zu file %d:", i, o->name,
		       (int)(a.s - slots), a.page, a.pages, a.file);
		o->run();
		if (i % 4 == 0)
			look();
		printf(" %lx\n", sum);
	}
	return 0;
}
