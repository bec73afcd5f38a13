/* SPDX-License-Identifier: MIT */
/*
 * X37: a thread confines itself to read, write and exit (SECCOMP_MODE_STRICT),
 * goes on using mappings, and ends alone. The file is its own, or its parent's,
 * too.
 */
#include "ct.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 256ul
#define N (PAGES * PAGE)

static const char *const names[] = { "rw", "private", "ro" };
static int ends[2];

static int confine(bool by_prctl)
{
	return (int)(by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) :
				syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT,
					0, NULL));
}

/* Each page, and what is stored to it where that may be. */
static size_t use(volatile unsigned char *p, bool stores)
{
	size_t wrong = 0;

	for (size_t i = 0; i < PAGES; i++) {
		wrong += p[i * PAGE + 5] != ct_byte(i * PAGE + 5);
		if (stores)
			p[i * PAGE + 6] = (unsigned char)(i + 1);
	}
	return wrong;
}

static _Noreturn void confined(char *const *p, bool by_prctl)
{
	size_t wrong = 0;
	char c = 0;

	if (p[0][9] != (char)ct_byte(9) || confine(by_prctl))
		syscall(SYS_exit, 99);
	for (size_t k = 0; k < 3; k++)
		wrong += use((void *)p[k], k < 2);
	wrong += write(ends[1], "x", 1) != 1;
	wrong += read(ends[0], &c, 1) != 1 || c != 'x';
	syscall(SYS_exit, wrong > 90 ? 90 : (int)wrong);
	__builtin_unreachable();
}

static void map_all(char **p)
{
	for (size_t k = 0; k < 3; k++) {
		int fd = open(ct_path(names[k]), k == 2 ? O_RDONLY : O_RDWR);

		p[k] = ct_map(fd, N, k == 2 ? PROT_READ : RW,
			      k == 1 ? MAP_PRIVATE : MAP_SHARED, 0);
		close(fd);
	}
}

static void look(const char *what)
{
	int fd = open(ct_path("rw"), O_RDONLY), stored = 0;
	unsigned char b;

	for (size_t i = 0; i < PAGES; i++)
		stored += pread(fd, &b, 1, (off_t)(i * PAGE + 6)) == 1 &&
			  b == (unsigned char)(i + 1);
	say("X37 %s: %d stored", what, stored);
	close(fd);
}

static void run(const char *what, bool shared, bool by_prctl)
{
	char *p[3];
	pid_t pid;

	for (size_t k = 0; k < 3; k++) {
		int fd = ct_file(names[k], N);

		ct_uncache(fd);
		close(fd);
	}
	if (shared)
		map_all(p);
	pid = fork();
	if (!pid) {
		if (!shared)
			map_all(p);
		confined(p, by_prctl);
	}
	say("X37 %s: %d", what, ct_ended(pid));
	look(what);
	for (size_t k = 0; shared && k < 3; k++)
		munmap(p[k], N);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	if (pipe(ends))
		ct_die("pipe");
	run("its own", false, true);
	run("inherited", true, false);
	return 0;
}
