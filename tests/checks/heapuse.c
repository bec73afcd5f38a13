/* SPDX-License-Identifier: MIT */
/*
 * heapuse.c - a program that uses its heap in one of the ways below, looks at
 * each byte, and prints what it finds (tests/checks/heap).
 *
 *   heapuse family|threads|fork|snapshot|blocked|grow|purge|limit|pieces|
 *           raw|spawn|exit|libc
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define PAGE 4096ul

extern char **environ;
static _Atomic unsigned wrong;

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	wrong++;
	printf("wrong: %s\n", what);
}

/* ---- blocks that know what is in them ------------------------------------ */

struct block {
	size_t n;
	uint64_t seed;
	unsigned char *p;
};

static unsigned char byte_of(uint64_t seed, size_t i)
{
	return (unsigned char)((seed + i) * 0x9e3779b97f4a7c15ull >> 56);
}

static void fill(struct block *b, uint64_t seed)
{
	b->seed = seed;
	for (size_t i = 0; i < b->n; i += i + 512 < b->n ? 509 : 1)
		b->p[i] = byte_of(seed, i);
}

static bool block_is(const struct block *b, size_t n)
{
	for (size_t i = 0; i < n; i += i + 512 < b->n ? 509 : 1)
		if (b->p[i] != byte_of(b->seed, i))
			return false;
	return true;
}

static bool is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void make(struct block *b, size_t n, uint64_t seed)
{
	b->n = n;
	b->p = malloc(n);
	if (!b->p) {
		printf("no memory: %zu\n", n);
		exit(1);
	}
	fill(b, seed);
}

static uint64_t next(uint64_t *r)
{
	*r ^= *r << 13;
	*r ^= *r >> 7;
	*r ^= *r << 17;
	return *r;
}

/* ---- family -------------------------------------------------------------- */

static void aligned(void *p, size_t align, size_t n, const char *what)
{
	expect(p && !((uintptr_t)p % align) && malloc_usable_size(p) >= n,
	       what);
	memset(p, 0x5a, n);
	free(p);
}

static void family(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *p = NULL;

	aligned(malloc(100), 16, 100, "malloc");
	aligned(memalign(1024, 10), 1024, 10, "memalign");
	aligned(memalign(48, 10), 16, 10, "memalign 48");
	aligned(aligned_alloc(4 * MIB, 4 * MIB), 4 * MIB, 4 * MIB, "aligned");
	aligned(valloc(10), PAGE, 10, "valloc");
	aligned(pvalloc(10), PAGE, PAGE, "pvalloc");
	expect(!posix_memalign(&p, 1 << 16, 99), "posix_memalign");
	aligned(p, 1 << 16, 99, "posix_memalign");
	expect(posix_memalign(&p, 3, 99) == EINVAL, "EINVAL");
	errno = 0;
	expect(!malloc(huge) && errno == ENOMEM, "too much");
	expect(!calloc(huge, 4), "overflow");
	expect(!reallocarray(NULL, huge, 4), "overflow of reallocarray");
	p = calloc(3, MIB);
	expect(p && is_zero(p, 3 * MIB), "calloc");
	expect(!realloc(p, 0), "realloc to 0");
	expect(malloc_usable_size(NULL) == 0, "usable size of NULL");
	errno = 77;
	free(malloc(5 * MIB));
	expect(errno == 77, "free keeps errno");
	free(NULL);
}

/* ---- threads ------------------------------------------------------------- */

#define BLOCKS 600
static struct block blocks[BLOCKS];
static pthread_mutex_t lock[BLOCKS];

static void *churn(void *arg)
{
	uint64_t r = (uintptr_t)arg;

	for (int i = 0; i < 2000; i++) {
		size_t k = next(&r) % BLOCKS;
		struct block *b = &blocks[k];

		pthread_mutex_lock(&lock[k]);
		if (b->p) {
			expect(block_is(b, b->n), "a block");
			free(b->p);
			b->p = NULL;
		} else {
			make(b, next(&r) % (i % 16 ? 3000 : 300000) + 1, r);
		}
		pthread_mutex_unlock(&lock[k]);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < BLOCKS; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i * 77 + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* ---- fork ---------------------------------------------------------------- */

static unsigned ends(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return (unsigned)status;
}

static void all(struct block *b, int n, bool store, uint64_t seed)
{
	for (int i = 0; i < n; i++) {
		expect(block_is(&b[i], b[i].n), "a block after fork");
		if (store)
			fill(&b[i], seed + (uint64_t)i);
	}
}

static void generations(struct block *b, int n, int left)
{
	pid_t pid;

	fflush(stdout);
	pid = left ? fork() : 0;
	expect(pid >= 0, "fork");
	if (left && pid == 0) {
		all(b, n, true, 1000);
		generations(b, n, left - 1);
		all(b, n, false, 0);
		fflush(stdout);
		_exit(wrong != 0);
	}
	all(b, n, true, 2000);
	all(b, n, false, 0);
	if (left)
		expect(ends(pid) == 0, "the child");
	all(b, n, false, 0);
}

static void forks(void)
{
	static struct block b[64];

	for (int i = 0; i < 64; i++)
		make(&b[i], i % 2 ? 400000 : 3000, (uint64_t)i);
	generations(b, 64, 2);
	for (int i = 0; i < 64; i++)
		free(b[i].p);
}

/* Another thread stores all the time: its stores up to some instant. */
#define APART (16 * PAGE)
static volatile uint64_t *many;
static _Atomic bool over;

static void *stores(void *arg)
{
	for (uint64_t i = 1; !over; i++)
		for (size_t k = 0; k < 64; k++)
			many[k * APART / 8] = i;
	return NULL;
}

/* The first ones are of a round, the rest of the round before it. */
static int in_order(void)
{
	uint64_t round = many[0];

	for (size_t k = 1; k < 64; k++) {
		uint64_t v = many[k * APART / 8];

		if (v != round && v + 1 != many[0])
			return 1;
		round = v;
	}
	return 0;
}

static void snapshot(void)
{
	pthread_t t;

	many = calloc(64, APART);
	pthread_create(&t, NULL, stores, NULL);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (pid < 0) { /* the kernel serves it: said */
			printf("refused\n");
			break;
		}
		if (pid == 0)
			_exit(in_order());
		expect(ends(pid) == 0, "what another thread stored");
	}
	over = true;
	pthread_join(t, NULL);
}

/* A system call of another thread is going to store to the heap. */
static int pipes[2];

static void *reads(void *arg)
{
	expect(read(pipes[0], arg, 100) == 5, "read");
	return NULL;
}

static void blocked(void)
{
	unsigned char *p = calloc(1, 8 * MIB);
	pthread_t t;
	pid_t pid;

	if (pipe(pipes))
		exit(1);
	pthread_create(&t, NULL, reads, p + MIB / 2);
	usleep(100000);
	pid = fork();
	if (pid == 0)
		_exit(!is_zero(p, 8 * MIB));
	if (pid < 0)
		printf("refused\n");
	else
		expect(ends(pid) == 0, "a child beside a read");
	if (write(pipes[1], "hello", 5) != 5)
		exit(1);
	pthread_join(t, NULL);
	expect(!memcmp(p + MIB / 2, "hello", 5), "what was read");
}

/* Copies of the process that nobody asks about. */
static void raw(void)
{
	struct block b;
	long pid;

	make(&b, 8 * MIB, 5);
	pid = syscall(SYS_fork);
	if (pid == 0) {
		bool ok = block_is(&b, b.n);

		fill(&b, 6);
		syscall(SYS_exit_group, !ok || !block_is(&b, b.n));
	}
	fill(&b, 7);
	expect(ends((pid_t)pid) == 0, "the child of SYS_fork");
	expect(block_is(&b, b.n), "the parent's");
	pid = _Fork();
	if (pid == 0) {
		bool ok = block_is(&b, b.n);

		fill(&b, 8);
		_exit(!ok || !block_is(&b, b.n));
	}
	expect(ends((pid_t)pid) == 0, "the child of _Fork");
	expect(block_is(&b, b.n), "the parent's");
}

static void spawn(void)
{
	char *args[] = { "true", NULL };
	struct block b;
	pid_t pid;

	make(&b, 30 * MIB, 5);
	expect(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) &&
	       ends(pid) == 0, "posix_spawn");
	expect(system("exit 3") == 3 << 8, "system");
	pid = vfork();
	if (pid == 0) {
		execv("/bin/true", args);
		_exit(9);
	}
	expect(ends(pid) == 0, "vfork");
	pid = fork();
	if (pid == 0)
		_exit(0);
	printf("fork: %s\n", pid < 0 ? strerror(errno) : "done");
	if (pid > 0)
		ends(pid);
	expect(block_is(&b, b.n), "the block");
	execv("/nowhere/at/all", args);
	expect(block_is(&b, b.n), "the block after an exec that failed");
	fill(&b, 6);
	fflush(stdout);
	if (wrong)
		exit(1);
	execv("/bin/true", args);
}

/* ---- room ---------------------------------------------------------------- */

/* Bytes that a fill of the block, longer or shorter, has stored. */
static bool is_kept(const struct block *b, size_t n)
{
	for (size_t i = 0; i + 600 < n; i += 509)
		if (b->p[i] != byte_of(b->seed, i))
			return false;
	return true;
}

static void grow(void)
{
	struct block b = { .n = 1 };
	size_t had;

	make(&b, 1, 3);
	while (b.n < 12 * MIB) {
		had = b.n;
		b.n += b.n / 4 + 1;
		b.p = realloc(b.p, b.n);
		expect(b.p && is_kept(&b, had), "realloc");
		fill(&b, b.n);
		expect(block_is(&b, b.n), "grown");
	}
	for (; b.n > 5000; b.n /= 2) {
		b.p = realloc(b.p, b.n / 2);
		expect(b.p && is_kept(&b, b.n / 2), "shrunk");
	}
	free(b.p);
}

static void purge(void)
{
	for (int turn = 0; turn < 4; turn++) {
		struct block b[16];

		for (int i = 0; i < 16; i++)
			make(&b[i], (size_t)(i + 1) * 100000, (uint64_t)i + 9);
		for (int i = turn % 2; i < 16; i += 2)
			free(b[i].p);
		malloc_trim(0);
		for (int i = turn % 2; i < 16; i += 2) {
			b[i].p = calloc(1, b[i].n);
			expect(b[i].p && is_zero(b[i].p, b[i].n), "zeros");
			fill(&b[i], 77);
		}
		for (int i = 0; i < 16; i++) {
			expect(block_is(&b[i], b[i].n), "beside zeros");
			free(b[i].p);
		}
	}
}

/* As much as there is in blocks of so many bytes, then half of it again. */
static void limit_of(size_t each)
{
	static struct block b[1000];
	int n = 0;

	for (; n < 1000 && (b[n].p = malloc(each)); n++) {
		b[n].n = each;
		fill(&b[n], (uint64_t)n);
	}
	expect(n < 1000 && errno == ENOMEM, "there is no end");
	expect(n > 4, "there is little");
	for (int i = 0; i < n; i++)
		expect(block_is(&b[i], b[i].n), "a block at the end");
	for (int i = 0; i < n; i += 2)
		free(b[i].p);
	for (int i = 0; i < n / 2 - 1; i += 2) {
		make(&b[i], each, 5);
		expect(block_is(&b[i], each), "a block again");
	}
}

static void limit(void)
{
	limit_of(MIB);
}

/* They do not end where pages do, nor blocks of the file system. */
static void pieces(void)
{
	limit_of(100000);
}

/* ---- what libc hands to the kernel itself -------------------------------- */

/* The first small blocks of a program have memory all the same. */
static void use_up_near(void)
{
	static void *p[2000];

	for (int i = 0; i < 2000; i++)
		p[i] = malloc(i % 2 ? PAGE : 1024);
	expect(p[1999] != NULL, "small blocks");
}

/* All the rest of the heap, so that what was used before leaves. */
static void sweep(void)
{
	static unsigned char *p;

	if (!p)
		p = malloc(2 * MIB);
	for (size_t i = 0; i < 2 * MIB; i += PAGE)
		p[i]++;
}

static void streams(void)
{
	FILE *out = fopen("lines", "w"), *in[32];
	char text[64];

	for (int i = 0; i < 4000; i++)
		expect(fprintf(out, "line %d\n", i) > 0, "fprintf");
	sweep();
	expect(!fclose(out), "fclose");
	for (int i = 0; i < 32; i++)
		in[i] = fopen("lines", "r");
	sweep();
	for (int i = 0; i < 32; i++)
		expect(fgets(text, sizeof(text), in[i]) &&
		       !strcmp(text, "line 0\n"), "fgets");
	for (int i = 0; i < 32; i++)
		expect(!fclose(in[i]), "fclose");
	expect(!unlink("lines"), "unlink");
}

static void libc(void)
{
	pthread_attr_t attr;
	char *where;
	DIR *dir;

	use_up_near();
	sweep();
	streams();
	dir = opendir("/etc");
	sweep();
	errno = 0;
	expect(dir && readdir(dir) && !errno && !closedir(dir), "readdir");
	where = getcwd(NULL, 0);
	expect(where != NULL, "getcwd");
	free(where);
	expect(!pthread_getattr_np(pthread_self(), &attr) &&
	       !pthread_attr_destroy(&attr), "pthread_getattr_np");
}

/* What is stored in the last moment is of no use to anybody. */
static void last(void)
{
	struct block b;

	make(&b, 20 * MIB, 5);
	expect(block_is(&b, b.n), "a block");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "family", family }, { "threads", threads },
		{ "fork", forks },    { "snapshot", snapshot },
		{ "blocked", blocked }, { "grow", grow },
		{ "purge", purge },   { "limit", limit },
		{ "pieces", pieces }, { "raw", raw },
		{ "spawn", spawn },   { "exit", last },
		{ "libc", libc },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	printf("%s\n", wrong ? "wrong" : "right");
	return wrong != 0;
}
