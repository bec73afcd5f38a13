/* SPDX-License-Identifier: MIT */
/* U17: windows of a page that are mapped and unmapped without a touch, over and
 * over, while the file is served, take hardly more system calls than natively:
 * a tracer counts those of a child. When they are touched they show the file,
 * and one that is kept shows what another mapping stores. */
/* env: FASTMAP_WARM=auto */
/* env: FASTMAP_TUNE=serve_start=0 */
#include "ct.h"

#include <signal.h>
#include <sys/ptrace.h>

#define PAGES 512
#define PAIRS 300

static int fd;

static void make(void)
{
	fd = ct_file("idle", PAGES * PAGE);
	for (int i = 0; i < PAGES; i++) {
		const char c = (char)('a' + i % 26);

		if (pwrite(fd, &c, 1, i * PAGE) != 1)
			ct_die("pwrite");
	}
	ct_uncache(fd);
	close(fd); /* or the child would not be alone with it */
}

static void map_all(void)
{
	volatile char *whole;

	fd = open("idle", O_RDONLY);
	whole = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	if (whole[PAGE] != 'b')
		say("U17 wrong");
}

static void untouched(int pairs)
{
	for (int n = 0; n < pairs; n++)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd,
			    n % PAGES * PAGE), PAGE);
}

static char at_page(int n)
{
	char *p = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, n * PAGE);
	char c = *p;

	munmap(p, PAGE);
	return c;
}

static int wrong(void)
{
	int n = 0;

	for (int i = 0; i < PAGES; i++)
		n += at_page(i) != 'a' + i % 26;
	return n;
}

static void child(void)
{
	map_all();
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	untouched(PAIRS);
	raise(SIGSTOP);
	untouched(PAIRS);
	_exit(0);
}

/* From its stop to its end. */
static long stops(void)
{
	int status, pid = fork();
	long n = 0;

	if (!pid)
		child();

	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status);

		n += sig == SIGTRAP;
		ptrace(PTRACE_SYSCALL, pid, NULL,
		       (long)(sig == SIGTRAP || sig == SIGSTOP ? 0 : sig));
		waitpid(pid, &status, 0);
	}
	return n;
}

int main(int argc, char **argv)
{
	char *kept, *stores;
	bool few = false;

	ct_begin(argc, argv);
	if (chdir(ct_dir))
		ct_die("chdir");
	make();
	/* Beside other work a thread of the engine may get no CPU meanwhile. */
	for (int k = 0; k < 4 && !few; k++) {
		const long n = stops(); /* two a call */

		few = n >= 4 * PAIRS && n < 10 * PAIRS;
	}
	say("U17 calls of %d pairs: %s", PAIRS,
	    few ? "less than five each" : "more");
	map_all();
	untouched(PAIRS);
	say("U17 then touched, wrong: %d", wrong());
	untouched(PAIRS);
	kept = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, 0);
	stores = ct_map(open("idle", O_RDWR), PAGES * PAGE, RW, MAP_SHARED, 0);
	stores[0] = '!';
	say("U17 kept %c, new %c", *kept, at_page(0));
	return 0;
}
