/* SPDX-License-Identifier: MIT */
/* C13: the buffer of a read or write is the mapping of the same file, even
 * the same pages. C11: both kinds of access agree all along. */
#include "ct.h"

#include <pthread.h>

#define N 64ul
#define ROUNDS ct_rounds(100, 200)

static void same_place(void)
{
	int fd = ct_file("same", N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	say("C13 pwrite onto itself: %zd", pwrite(fd, p, N * PAGE, 0));
	say("C13 content: %d", ct_matches(p, N * PAGE, 0));
	say("C13 pread onto itself: %zd", pread(fd, p, N * PAGE, 0));
	say("C13 content: %d", ct_matches(p, N * PAGE, 0));
	p[5 * PAGE + 1] = 0x77;
	say("C13 pwrite after a store: %zd",
	    pwrite(fd, p + 5 * PAGE, PAGE, 5 * PAGE));
	say("C13 the store: %02x %02x", p[5 * PAGE + 1],
	    ct_in_file(fd, 5 * PAGE + 1));
	p[6 * PAGE + 1] = 0x76;
	say("C13 pread after a store: %zd",
	    pread(fd, p + 6 * PAGE, PAGE, 6 * PAGE));
	say("C13 the store: %02x %02x", p[6 * PAGE + 1],
	    ct_in_file(fd, 6 * PAGE + 1));
	munmap(p, N * PAGE);
	close(fd);
}

/* Whole pages from one place to another, apart and adjoining. */
static void moved(void)
{
	int fd = ct_file("moved", N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	p[3 * PAGE] = 0x55;
	say("C13 write elsewhere: %zd", pwrite(fd, p, 8 * PAGE, 32 * PAGE));
	say("C13 there: %d %02x %d", ct_matches(p + 32 * PAGE, 3 * PAGE, 0),
	    p[35 * PAGE],
	    ct_matches(p + 35 * PAGE + 1, 5 * PAGE - 1, 3 * PAGE + 1));
	say("C13 read elsewhere: %zd",
	    pread(fd, p + 50 * PAGE + 3, 5 * PAGE, 10 * PAGE));
	say("C13 there: %d %d",
	    ct_matches(p + 50 * PAGE + 3, 5 * PAGE, 10 * PAGE),
	    ct_in_file(fd, 50 * PAGE + 3) == ct_byte(10 * PAGE));
	say("C13 unaligned neighbour: %zd",
	    pwrite(fd, p + 20 * PAGE + 10, PAGE, 21 * PAGE + 20));
	say("C13 there: %d",
	    ct_matches(p + 21 * PAGE + 20, PAGE, 20 * PAGE + 10));
	munmap(p, N * PAGE);
	close(fd);
}

static void position(void)
{
	int fd = ct_file("pos", N * PAGE), ap;
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	struct stat st;

	for (int i = 0; i < 20; i++)
		ct_load(p + (size_t)i * PAGE);
	lseek(fd, 10 * PAGE, SEEK_SET);
	for (int i = 0; i < 40; i++)
		if (write(fd, "0123456789", 10) != 10)
			say("C11 short write");
	say("C27 position: %ld",
	    (long)(lseek(fd, 0, SEEK_CUR) - 10 * (off_t)PAGE));
	say("C11 written in the map: %.20s", p + 10 * PAGE);
	ap = open(ct_path("pos"), O_WRONLY | O_APPEND);
	say("C11 append: %zd", write(ap, p + 9 * PAGE, 3 * PAGE));
	say("C11 pwrite to O_APPEND: %zd", pwrite(ap, "tail", 4, 0));
	fstat(fd, &st);
	say("C11 size: %ld", (long)st.st_size);
	munmap(p, N * PAGE);
	p = ct_map(fd, (N + 4) * PAGE, RW, MAP_SHARED, 0);
	say("C11 appended: %d %.10s %.4s",
	    ct_matches(p + N * PAGE, PAGE, 9 * PAGE), p + (N + 1) * PAGE,
	    p + (N + 3) * PAGE);
	say("C11 stays: %02x %d", p[0] & 0xff, ct_byte(0));
	munmap(p, (N + 4) * PAGE);
	close(ap);
	close(fd);
}

/* The tail of the last page, stored to beyond the end, never comes to light. */
/* since 6.13: C02 between */
/* since 6.13: C02 in the file */
static void tail(void)
{
	int fd = ct_file("tail", 2 * PAGE + 100);
	char *p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);

	memset(p + 2 * PAGE + 100, 0x99, 200);
	say("C02 write past it: %zd", pwrite(fd, "x", 1, 2 * PAGE + 1000));
	say("C02 between: %d", ct_zero(p + 2 * PAGE + 100, 900));
	say("C02 in the file: %d", ct_in_file(fd, 2 * PAGE + 150));
	say_load("C05 grown", p, 2 * PAGE + 1000);
	say("C05 write a page on: %zd", pwrite(fd, "y", 1, 3 * PAGE + 5));
	say_load("C05 grown", p, 3 * PAGE + 5);
	munmap(p, 4 * PAGE);
	close(fd);
}

/* ---- threads: stores and writes on neighbouring bytes ------------------- */

static int t_fd;
static char *t_map;

static void *writer(void *arg)
{
	size_t id = (size_t)arg;

	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = id; i < N; i += 2) {
			char c = (char)(round + (int)id);

			if (pwrite(t_fd, &c, 1, (off_t)(i * PAGE + id)) != 1)
				say("C11 short");
			t_map[i * PAGE + 100 + id] = c;
			t_map[(N - 1 - i) * PAGE + 200 + id] = c;
		}
	return NULL;
}

static void threads(void)
{
	pthread_t t[2];
	char want[2] = { (char)(ROUNDS - 1), (char)ROUNDS };
	int bad = 0;

	t_fd = ct_file("threads", N * PAGE);
	t_map = ct_map(t_fd, N * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, writer, (void *)i);
	for (size_t i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < N; i++) {
		size_t id = i % 2, od = (N - 1 - i) % 2;
		int at[3] = { (int)id, 100 + (int)id, 200 + (int)od };
		char w[3] = { want[id], want[id], want[od] };

		for (int k = 0; k < 3; k++) {
			off_t off = (off_t)(i * PAGE) + at[k];

			bad += t_map[off] != w[k];
			bad += (char)ct_in_file(t_fd, off) != w[k];
		}
	}
	say("C11 threads, disagreements: %d", bad);
	say("C11 rest: %d",
	    ct_matches(t_map + 5 * PAGE + 300, 3000, 5 * PAGE + 300));
	munmap(t_map, N * PAGE);
	close(t_fd);
}

static void *appender(void *arg)
{
	char line[64];

	for (int i = 0; i < 500; i++) {
		memset(line, 'a' + (int)(size_t)arg, sizeof(line));
		line[63] = '\n';
		if (write(t_fd, line, sizeof(line)) != sizeof(line))
			say("C11 short");
	}
	return NULL;
}

/* Several threads write to one position; the map must show the file. */
static void shared_position(int flags, const char *what)
{
	pthread_t t[3];
	size_t size = 3 * 500 * 64;
	int bad = 0;
	char *b = malloc(size), *p;

	close(ct_file("line", PAGE));
	t_fd = open(ct_path("line"), O_RDWR | flags);
	if (ftruncate(t_fd, 0))
		ct_die("ftruncate");
	p = ct_map(t_fd, size + PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, appender, (void *)i);
	for (size_t i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	say("C11 %s size: %ld", what, (long)lseek(t_fd, 0, SEEK_END));
	if (pread(t_fd, b, size, 0) != (ssize_t)size)
		say("C11 %s: short", what);
	for (size_t i = 0; i < size; i += 64) {
		bad += memcmp(b + i, p + i, 64) != 0;
		for (size_t k = 0; k < 63; k++)
			bad += p[i + k] != p[i];
		bad += p[i + 63] != '\n';
	}
	say("C11 %s, wrong lines: %d", what, bad);
	munmap(p, size + PAGE);
	close(t_fd);
	free(b);
}

/* timeout: 480 */
/* One page, which is copied on the way: the copy must be fit for O_DIRECT. */
static void direct(void)
{
	int fd = ct_file("direct", N * PAGE);
	int d = open(ct_path("direct"), O_RDWR | O_DIRECT);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	if (d < 0) {
		say("C13 no O_DIRECT here");
		return;
	}
	p[9 * PAGE] = 0x78;
	say("C13 direct pwrite of a page: %zd",
	    pwrite(d, p + 9 * PAGE, PAGE, 0));
	say("C13 in the file: %02x", ct_in_file(fd, 0));
	say("C13 direct pread of a page: %zd",
	    pread(d, p + 20 * PAGE, PAGE, 9 * PAGE));
	say("C13 content: %02x", p[20 * PAGE]);
	munmap(p, N * PAGE);
	close(d);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	same_place();
	moved();
	position();
	tail();
	threads();
	shared_position(0, "one position");
	shared_position(O_APPEND, "append");
	direct();
	return 0;
}
