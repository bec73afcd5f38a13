/* SPDX-License-Identifier: MIT */
/* C15v: private pages are dropped all the time (MADV_DONTNEED) while calls read
 * into them and write from them. Each call moves all that it was asked for;
 * each page shows the file, or what was read. */
#include "ct.h"

#include <pthread.h>
#include <sys/uio.h>

#define N 64
#define AT (PAGE + 100) /* no whole pages: ends may be dropped, too */
#define LEN (40 * PAGE)
#define ROUNDS ct_rounds(20, 60)
#define READ 'r'
#define OWN 'B'

static char *map, *plain;
static int from, to;
static _Atomic bool stop;
static _Atomic unsigned drops;

static void *dropper(void *arg)
{
	unsigned seed = 1;

	while (!stop) {
		const size_t page = (seed = seed * 1103515245 + 12345) >> 16;

		madvise(map + page % 42 * PAGE, PAGE << (page >> 8 & 1),
			MADV_DONTNEED);
		drops++;
	}
	return NULL;
}

static ssize_t by_pread(void)
{
	return pread(from, map + AT, LEN, 0);
}

static ssize_t by_read(void)
{
	lseek(from, 0, SEEK_SET);
	return read(from, map + AT, LEN) +
	       (lseek(from, 0, SEEK_CUR) == (off_t)LEN ? 0 : -1000000);
}

static ssize_t by_preadv(void)
{
	const struct iovec v[2] = { { map + AT, 7 * PAGE },
				    { map + AT + 7 * PAGE, LEN - 7 * PAGE } };

	return preadv(from, v, 2, 0);
}

static ssize_t by_fread(void)
{
	FILE *f = fopen(ct_path("from"), "r");
	ssize_t n = (ssize_t)fread(map + AT, 1, LEN, f);

	n -= ferror(f) ? 1000000 : 0;
	fclose(f);
	return n;
}

static ssize_t by_vm_readv(void)
{
	const struct iovec l = { map + AT, LEN }, r = { plain, LEN };

	return process_vm_readv(getpid(), &l, 1, &r, 1, 0);
}

static ssize_t by_pwrite(void)
{
	return pwrite(to, map + AT, LEN, 0);
}

static ssize_t by_pwritev(void)
{
	const struct iovec v[2] = { { map + AT, 7 * PAGE },
				    { map + AT + 7 * PAGE, LEN - 7 * PAGE } };

	return pwritev(to, v, 2, 0);
}

static ssize_t by_fwrite(void)
{
	FILE *f = fopen(ct_path("to"), "r+");
	ssize_t n = (ssize_t)fwrite(map + AT, 1, LEN, f);

	n -= ferror(f) || fclose(f) ? 1000000 : 0;
	return n;
}

/* Bytes of the range that are neither the file's nor such. */
static size_t wrong(const char *p, char such)
{
	size_t bad = 0;

	for (size_t k = 0; k < LEN; k++)
		bad += p[k] != such && p[k] != (char)ct_byte(AT + k);
	return bad;
}

static void many(const char *name, ssize_t (*call)(void), bool in)
{
	size_t bad = 0;
	int partly = 0;
	static char got[LEN];

	for (int n = 0; n < ROUNDS; n++) {
		if (!in)
			memset(map + AT, OWN, LEN);
		partly += call() != (ssize_t)LEN;
		if (!in && pread(to, got, LEN, 0) != (ssize_t)LEN)
			ct_die("pread");
		bad += wrong(in ? map + AT : got, in ? READ : OWN);
	}
	say("C15v %s: partly %d, wrong %zu", name, partly, bad);
}

/* ---- a call that waits ------------------------------------------------- */

static int ends[2];

static void *reader(void *arg)
{
	return (void *)read(ends[0], map + AT, 2 * PAGE);
}

/* In the first page the program's byte, in the next ones' what the file has, or
 * what was read. */
static void show(const char *what)
{
	char text[4] = "";

	for (size_t p = 0; p < 3; p++) {
		const char c = map[AT + p * PAGE];

		text[p] = c == READ || c == OWN ? c :
			  c == (char)ct_byte(AT + p * PAGE) ? '.' : '?';
	}
	say("C15v %s: %s %d", what, text, map[PAGE] == OWN);
}

static void waits(void)
{
	pthread_t t;
	void *n;

	if (pipe(ends))
		ct_die("pipe");
	memset(map + PAGE, OWN, 4 * PAGE);
	pthread_create(&t, NULL, reader, NULL);
	usleep(100000);
	show("stored");
	madvise(map + PAGE, PAGE, MADV_DONTNEED);
	show("dropped");
	(void)!write(ends[1], plain, PAGE + 1);
	pthread_join(t, &n);
	say("C15v read %zd", (ssize_t)(intptr_t)n);
	show("read");
}

int main(int argc, char **argv)
{
	pthread_t t;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("mapped", N * PAGE);
	plain = ct_map(-1, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	memset(plain, READ, LEN);
	from = open(ct_path("from"), O_RDWR | O_CREAT, 0644);
	to = open(ct_path("to"), O_RDWR | O_CREAT, 0644);
	ct_pwrite(from, plain, LEN, 0);
	map = ct_map(fd, N * PAGE, RW, MAP_PRIVATE, 0);
	pthread_create(&t, NULL, dropper, NULL);
	many("pread", by_pread, true);
	many("read", by_read, true);
	many("preadv", by_preadv, true);
	many("fread", by_fread, true);
	many("process_vm_readv", by_vm_readv, true);
	many("pwrite", by_pwrite, false);
	many("pwritev", by_pwritev, false);
	many("fwrite", by_fwrite, false);
	stop = true;
	pthread_join(t, NULL);
	say("C15v dropped: %d", drops > 100);
	waits();
	madvise(map, N * PAGE, MADV_DONTNEED);
	say("C15v at the end: %d", ct_matches(map, N * PAGE, 0));
	return 0;
}
