/* SPDX-License-Identifier: MIT */
/*
 * F5: a program closes every descriptor by system call instructions of its
 * own, which no preloaded library sees, while its mappings live on. Every page
 * shows what it must, and stores reach the file. Numbers that were free before
 * are used for other files, or for an io_uring, which must not get files of
 * ours. What is mapped anew is ours again: our own claims,
 * which the guardian keeps, do not stand in the way.
 */
/* all ours */
#include "ct.h"

#include <linux/io_uring.h>
#include <string.h>
#include <sys/syscall.h>

#define N 512ul

static void stolen(bool reuse)
{
	const char *name = reuse ? "reuse" : "file";
	int fd = ct_file(name, N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	size_t stored = 0;

	say("F5 before: %zu wrong", ct_wrong(p, 0, 8));
	p[3 * PAGE] = 'A';
	say("F5 close_range: %ld", ct_raw(SYS_close_range, 3, ~0u, 0, 0));
	for (int i = 3; reuse && i < 1024; i++)
		if (open("/dev/null", O_RDWR) < 0)
			break;
	say("F5 after: %zu wrong", ct_wrong(p, 8, N / 2));
	for (size_t i = 0; i < N; i += 7)
		p[i * PAGE + 100] = 'S';
	say_rc("F5 msync", msync(p, N * PAGE, MS_SYNC));
	say("F5 the rest: %zu wrong", ct_wrong(p, N / 2, N));
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	p[5 * PAGE] = 'B';
	say("F5 again: %zu wrong", ct_wrong(p, 8, N));
	say_rc("F5 munmap", munmap(p, N * PAGE));
	fd = open(ct_path(name), O_RDWR);
	say_rc("F5 open", fd);
	for (size_t i = 0; i < N; i += 7)
		stored += ct_in_file(fd, (off_t)(i * PAGE + 100)) == 'S';
	say("F5 stored: %d, %c %c", stored == (N + 6) / 7,
	    ct_in_file(fd, 3 * PAGE), ct_in_file(fd, 5 * PAGE));
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	say("F5 mapped anew: %c %c", p[3 * PAGE], p[5 * PAGE]);
	munmap(p, N * PAGE);
	close(fd);
}

/* The last numbers closed are those by which the size is looked at. */
static void grown(void)
{
	int fd = ct_file("grown", N * PAGE);
	char *p = ct_map(fd, 2 * N * PAGE, RW, MAP_SHARED, 0);

	p[0] = 'A';
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	fd = open(ct_path("grown"), O_RDWR);
	say_rc("F5 ftruncate", ftruncate(fd, 2 * N * PAGE));
	for (size_t i = 0; i < 2 * N; i += 9)
		p[i * PAGE + 5] = 'G';
	say_rc("F5 msync grown", msync(p, 2 * N * PAGE, MS_SYNC));
	say("F5 grown: %c %c", ct_in_file(fd, (off_t)(9 * PAGE + 5)),
	    ct_in_file(fd, (off_t)(113 * 9 * PAGE + 5)));
	munmap(p, 2 * N * PAGE);
	close(fd);
}

/* An io_uring of its own, of whose files none is set. -1: there is none. */
static int own_ring(uint32_t flags)
{
	struct io_uring_params p = { .flags = flags };
	struct io_uring_rsrc_register files = {
		.nr = 512, .flags = IORING_RSRC_REGISTER_SPARSE,
	};
	int fd = (int)ct_raw(SYS_io_uring_setup, 4, (long)&p, 0, 0);

	return fd < 0 || ct_raw(SYS_io_uring_register, fd,
				IORING_REGISTER_FILES2, (long)&files,
				sizeof(files)) ? -1 : fd;
}

static int plain_ring(void)
{
	return own_ring(0);
}

/* Only the thread that has made it may enter it. */
static int single_ring(void)
{
	return own_ring(IORING_SETUP_SINGLE_ISSUER);
}

/* Who submits to it is told that all is taken, and waits for what comes. */
static int polled_ring(void)
{
	return own_ring(IORING_SETUP_SQPOLL);
}

static int null_device(void)
{
	return open("/dev/null", O_RDWR);
}

/* Does the ring, if it is one, have this file? */
static bool has(int ring, const char *name)
{
	char line[512];
	bool found = false;
	FILE *f;

	sprintf(line, "/proc/self/fdinfo/%d", ring);
	f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, name) != NULL;
	if (f)
		fclose(f);
	return found;
}

/* Every number that was open is another file's before the second file is
 * handed to a ring for the first time. */
static void numbers(const char *first, const char *later, int (*other)(void))
{
	static bool open_before[4096];
	int fd = ct_file(first, N * PAGE), one;
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0), *q;

	p[PAGE] = 'A';
	say_rc("F5 msync", msync(p, N * PAGE, MS_SYNC));
	fd = ct_file(later, N * PAGE);
	q = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	for (int i = 3; i < 4096; i++)
		open_before[i] = ct_raw(SYS_fcntl, i, F_GETFD, 0, 0) >= 0;
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	one = other();
	for (int i = 3; one >= 0 && i < 4096; i++)
		if (open_before[i] && i != one)
			ct_raw(SYS_dup2, one, i, 0, 0);
	say("F5 numbers: %zu wrong", ct_wrong(q, 0, N));
	for (size_t i = 0; i < N; i++)
		q[i * PAGE + 9] = 'N';
	say_rc("F5 msync numbers", msync(q, N * PAGE, MS_SYNC));
	say("F5 numbers: given away: %d", has(one, later));
	munmap(q, N * PAGE);
	munmap(p, N * PAGE);
	fd = open(ct_path(later), O_RDONLY);
	say("F5 numbers: %c", ct_in_file(fd, 7 * PAGE + 9));
	close(fd);
}

static void files(void)
{
	numbers("seen", "unseen", null_device);
}

static void rings(void)
{
	numbers("ring", "unring", plain_ring);
}

static void single_rings(void)
{
	numbers("single", "unsingle", single_ring);
}

static void polled_rings(void)
{
	numbers("polled", "unpolled", polled_ring);
}

static void first(void)
{
	stolen(false);
}

static void second(void)
{
	stolen(true);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	say_child("F5 closed", first);
	say_child("F5 used again", second);
	say_child("F5 grown", grown);
	say_child("F5 numbers", files);
	say_child("F5 rings", rings);
	say_child("F5 single rings", single_rings);
	say_child("F5 polled rings", polled_rings);
	return 0;
}
