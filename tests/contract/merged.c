/* SPDX-License-Identifier: MIT */
/* L07: the program lets the kernel merge its pages with others of the same
 * content, before and after a file is mapped. What is stored to them then
 * arrives. */
#include "ct.h"

#include <sys/file.h>
#include <sys/prctl.h>

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif
#define N 512ul /* less than the smallest cache */
#define KSM "/sys/kernel/mm/ksm/"

static unsigned long number(const char *name)
{
	char s[32] = "";
	int fd = open(name, O_RDONLY);

	if (fd < 0 || read(fd, s, sizeof(s) - 1) < 1)
		s[0] = '0';
	close(fd);
	return strtoul(s, NULL, 10);
}

static void set(const char *name, const char *to)
{
	int fd = open(name, O_WRONLY);

	if (fd >= 0 && write(fd, to, strlen(to)) < 0)
		ct_die("ksm");
	close(fd);
}

/* Rounds of the merging thread, if it runs: a page is merged in the second or
 * third. */
static void merge(void)
{
	unsigned long from = number(KSM "full_scans");

	for (int i = 0; i < 300 && number(KSM "run") == 1 &&
			number(KSM "full_scans") < from + 4; i++)
		usleep(10000);
}

static size_t look(char *p)
{
	size_t n = 0;

	for (size_t i = 0; i < N; i++)
		n += ct_load(p + i * PAGE) == 0;
	return n;
}

static void use(const char *what, char *p, int fd)
{
	size_t lost = 0, seen = look(p);

	merge();
	for (size_t i = 0; i < N; i++)
		p[i * PAGE + 5] = (char)(i | 1);
	say_rc("L07 msync", msync(p, N * PAGE, MS_SYNC));
	for (size_t i = 0; i < N; i++)
		lost += ct_in_file(fd, (off_t)(i * PAGE + 5)) !=
			(unsigned char)(i | 1);
	say("L07 %s: zero %zu, lost %zu", what, seen, lost);
}

static int zeros(const char *name)
{
	int fd = open(ct_path(name), O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (ftruncate(fd, N * PAGE))
		ct_die("ftruncate");
	for (size_t i = 0; i < N; i++)
		ct_pwrite(fd, "", 1, (off_t)(i * PAGE));
	return fd;
}

static unsigned long was_run, was_pages;

static void stop(void)
{
	char n[32];

	snprintf(n, sizeof(n), "%lu", was_pages);
	set(KSM "pages_to_scan", n);
	if (!was_run)
		set(KSM "run", "0");
}

/* For the whole system: one at a time. */
static void start(void)
{
	int fd = open(KSM "run", O_RDONLY);

	if (fd < 0 || flock(fd, LOCK_EX))
		return;
	was_run = number(KSM "run");
	was_pages = number(KSM "pages_to_scan");
	if (atexit(stop))
		return;
	set(KSM "pages_to_scan", "20000");
	set(KSM "run", "1");
}

int main(int argc, char **argv)
{
	int one, two;
	char *p, *q;

	ct_begin(argc, argv);
	start();
	one = zeros("one");
	two = zeros("two");
	p = ct_map(one, N * PAGE, RW, MAP_SHARED, 0);
	say("L07 before: %zu", look(p));
	say_rc("L07 no such argument", prctl(PR_SET_MEMORY_MERGE, 1, 2, 3, 4));
	if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
		ct_skip("PR_SET_MEMORY_MERGE: not in this kernel");
	use("mapped before", p, one);
	q = ct_map(two, N * PAGE, RW, MAP_SHARED, 0);
	use("mapped after", q, two);
	say_rc("L07 no more", prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0));
	return 0;
}
