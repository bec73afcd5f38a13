/* SPDX-License-Identifier: MIT */
/*
 * dropped_fs.c - pages of a private mapping are dropped (MADV_DONTNEED) while a
 * call that reads into them waits for a file system that does not answer
 * (C15w). DIR is a failing_fs; the second argument is the file that is mapped.
 */
#include "../contract/ct.h"

#include <pthread.h>
#include <sys/uio.h>

#define N 64
#define AT (3 * PAGE + 100) /* where it is read to: the end of a page, too */
#define LEN (8 * PAGE)

static char *map;
static int from, from_off;
static _Atomic int done;

struct how {
	const char *name;
	ssize_t (*call)(void);
	bool direct;
};

static void command(const char *word)
{
	int c = open(ct_path("control"), O_WRONLY);

	if (c < 0 || write(c, word, strlen(word)) < 0)
		ct_die(word);
	close(c);
}

static ssize_t by_pread(void)
{
	return pread(from, map + AT, LEN, from_off);
}

static ssize_t by_read(void)
{
	ssize_t n;

	lseek(from, from_off, SEEK_SET);
	n = read(from, map + AT, LEN);
	say("C15w position %ld", (long)lseek(from, 0, SEEK_CUR) - from_off);
	return n;
}

static ssize_t by_preadv(void)
{
	const struct iovec v[2] = { { map + AT, 2 * PAGE },
				    { map + AT + 2 * PAGE, LEN - 2 * PAGE } };

	return preadv(from, v, 2, from_off);
}

static ssize_t by_fread(void)
{
	FILE *f = fdopen(dup(from), "r");
	ssize_t n;

	fseek(f, from_off, SEEK_SET);
	n = (ssize_t)fread(map + AT, 1, LEN, f);
	say("C15w error %d eof %d", ferror(f), feof(f));
	fclose(f);
	return n;
}

static ssize_t by_direct(void)
{
	const int fd = open(ct_path("bad"), O_RDONLY | O_DIRECT);
	const ssize_t n = pread(fd, map + 3 * PAGE, LEN, from_off);

	close(fd);
	return n;
}

static const struct how hows[] = {
	{ "pread", by_pread, false },	{ "read", by_read, false },
	{ "preadv", by_preadv, false }, { "fread", by_fread, false },
	{ "direct", by_direct, true },
};

static void *caller(void *arg)
{
	const struct how *h = arg;
	const ssize_t n = h->call();

	done = 1;
	return (void *)n;
}

/* What each page shows: the file's bytes, the program's, what was read. */
static void show(const char *what, const struct how *h)
{
	const size_t at = h->direct ? 3 * PAGE : AT;
	char text[13] = "";

	for (size_t p = 0; p < 12; p++) {
		const char *c = map + p * PAGE;
		const size_t k = p * PAGE + 200;
		const bool in = k >= at && k < at + LEN;
		const char read = (char)ct_byte((size_t)from_off + k - at);

		text[p] = in && c[200] == read ? 'r' :
			  c[200] == (char)ct_byte(k) ? '.' : '?';
		if (c[50] == 'B')
			text[p] = text[p] == 'r' ? 'R' : 'B';
	}
	say("C15w %s %s: %s", h->name, what, text);
}

static void drop(size_t first, size_t n)
{
	say_rc("C15w dropped",
	       madvise(map + first * PAGE, n * PAGE, MADV_DONTNEED));
}

/* `when` it drops them: while the call waits, or after it. */
static void one(const struct how *h, bool waits)
{
	pthread_t t;
	void *n;

	for (size_t p = 0; p < 12; p++)
		map[p * PAGE + 50] = 'B';
	posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED);
	command("silent");
	done = 0;
	pthread_create(&t, NULL, caller, (void *)(uintptr_t)h);
	usleep(200000);
	say("C15w %s waits: %d", h->name, !done);
	show("stored", h);
	if (waits) {
		drop(3, 2);
		show("dropped", h);
		drop(7, 1);
		map[7 * PAGE + 50] = 'B';
		drop(11, 1);
	}
	command("none");
	pthread_join(t, &n);
	say("C15w %s: %zd", h->name, (ssize_t)(intptr_t)n);
	show("read", h);
	drop(0, 12);
	show("all dropped", h);
	from_off += 16 * (int)PAGE;
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = open(argv[2], O_RDONLY);
	from = open(ct_path("bad"), O_RDONLY);
	if (fd < 0 || from < 0)
		ct_die("open");
	map = ct_map(fd, N * PAGE, RW, MAP_PRIVATE, 0);
	for (size_t k = 0; k < sizeof(hows) / sizeof(*hows); k++)
		for (int waits = 1; waits >= 0; waits--)
			one(&hows[k], waits);
	return 0;
}
