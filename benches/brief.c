/* SPDX-License-Identifier: MIT */
/*
 * brief.c - a program that hardly does anything: maps 64 MiB of a file, looks
 * at some pages in no order, forks some children that look at one page and end,
 * and ends. What its start, its end and each fork take is what is measured.
 */
#include "help.h"
#include "measure.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define LEN (64ul << 20)

static const char usage_text[] =
	"brief FILE PAGES FORKS\n"
	"  FILE   at least 64 MiB of it are mapped, to be read\n"
	"  PAGES  to look at, in no order\n"
	"  FORKS  children, one after the other\n"
	"prints the microseconds of one child, from fork to its end\n";

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static const volatile unsigned char *map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *m;

	if (fd < 0)
		fail(path);
	m = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		fail("mmap");
	close(fd);
	return m;
}

/* Multiples of a prime: each page at most once. */
static unsigned look(const volatile unsigned char *m, unsigned long i)
{
	return m[i * 7919 % (LEN / PAGE) * PAGE];
}

static void child(const volatile unsigned char *m, unsigned long i)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		fail("fork");
	if (!pid)
		_exit(look(m, i) > 255);
	if (waitpid(pid, &status, 0) != pid || status)
		fail("waitpid");
}

int main(int argc, char **argv)
{
	const volatile unsigned char *m;
	unsigned long i, pages, forks;
	uint64_t began;

	help(argc, argv, 4, usage_text);
	pages = strtoul(argv[2], NULL, 10);
	forks = strtoul(argv[3], NULL, 10);
	m = map(argv[1]);
	for (i = 0; i < pages; i++)
		look(m, i);
	began = now_ns();
	for (i = 0; i < forks; i++)
		child(m, i);
	printf("%.1f\n", forks ? (now_ns() - began) / 1e3 / forks : 0);
	return 0;
}
