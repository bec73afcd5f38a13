/* SPDX-License-Identifier: MIT */
/*
 * async.h - C86: a file is mapped, and read and written by what no hook sees.
 * The program that includes it has ready(), which makes a ring or a context,
 * and transfer(), which reads or writes and waits.
 */
#include "ct.h"

#define SIZE (1ul << 20)

static void ready(void);
static ssize_t transfer(int fd, void *buf, size_t len, off_t off, bool write);

static char buf[2 * PAGE];

static void written(const char *what, const char *p, int fd, size_t page)
{
	ssize_t n;

	memset(buf, (int)(page % 100) + 1, PAGE);
	n = transfer(fd, buf, PAGE, (off_t)(page * PAGE), true);
	say("C86 %s: %zd written, seen %d", what, n,
	    !memcmp(p + page * PAGE, buf, PAGE));
}

static void stored(const char *what, char *p, int fd, size_t page)
{
	ssize_t n;

	p[page * PAGE + 7] = 0x51;
	memset(buf, 0, PAGE);
	n = transfer(fd, buf, PAGE, (off_t)(page * PAGE), false);
	say("C86 %s: %zd read, the store is there %d", what, n, buf[7] == 0x51);
}

static char *touched(int fd, int prot, int flags)
{
	char *p = ct_map(fd, SIZE, prot, flags, 0);

	say("C86 before: %d", ct_matches(p, 32 * PAGE, 0));
	return p;
}

static void mapped_before(void)
{
	int fd = ct_file("before", SIZE), ro;
	char *p = touched(fd, RW, MAP_SHARED),
	     *own = touched(fd, RW, MAP_PRIVATE), *q;

	ro = open(ct_path("only"), O_RDONLY);
	q = ct_map(ro, SIZE, PROT_READ, MAP_SHARED, 0);
	say("C86 read only: %d", ct_matches(q, 32 * PAGE, 0));
	p[3 * PAGE] = 0x31;
	own[4 * PAGE] = 0x32;
	ready();
	say("C86 stores: %02x %02x", p[3 * PAGE], own[4 * PAGE]);
	written("mapped before", p, fd, 5);
	say("C86 by the private one: %d, its own: %02x", own[5 * PAGE + 9],
	    own[4 * PAGE]);
	stored("mapped before", p, fd, 6);
	say("C86 read only: %d", ct_matches(q, SIZE, 0));
	close(ro);
}

static void mapped_after(void)
{
	int fd = ct_file("after", SIZE), rd;
	char *p, *q;

	ready();
	p = touched(fd, RW, MAP_SHARED);
	written("mapped after", p, fd, 5);
	stored("mapped after", p, fd, 6);
	munmap(p, SIZE);
	close(fd);
	fd = ct_file("after", SIZE);
	rd = open(ct_path("after"), O_RDONLY);
	q = touched(rd, PROT_READ, MAP_SHARED);
	written("read only, and open for writing", q, fd, 7);
}

static void opened_later(void)
{
	int fd = ct_file("later", SIZE), again;
	char *p = touched(fd, RW, MAP_SHARED), *q;

	close(fd);
	ready();
	p[9 * PAGE + 7] = 0x55;
	again = open(ct_path("later"), O_RDONLY);
	stored("opened later", p, again, 10);
	if (transfer(again, buf, PAGE, 9 * PAGE, false) == (ssize_t)PAGE)
		say("C86 the store before: %02x", buf[7]);
	close(ct_file("only", SIZE));
	fd = open(ct_path("only"), O_RDONLY);
	q = touched(fd, PROT_READ, MAP_SHARED);
	close(fd);
	again = open(ct_path("only"), O_RDWR);
	written("opened later for writing", q, again, 11);
}

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fn();
		exit(0);
	}
	waitpid(pid, &status, 0);
	say("C86 child: %d", status);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	close(ct_file("only", SIZE));
	in_child(mapped_after);
	in_child(opened_later);
	fd = ct_file("served", SIZE);
	touched(fd, RW, MAP_SHARED)[PAGE] = 1;
	close(fd);
	close(ct_file("only", SIZE));
	mapped_before();
	return 0;
}
