/* SPDX-License-Identifier: MIT */
/* C88i: a file that is ours, but whose mappings the kernel serves, is mapped
 * over and over: its name is not asked each time. Another file by the same
 * descriptor shows what is in it, and so does the engine when it takes it. */
#include "traps.h"

#include <pthread.h>

#define TIMES 60
#define N (64 * PAGE)

/* Stays the kernel's, whatever the file. */
static char first_of(int fd)
{
	char *p = ct_map(fd, N, PROT_READ | PROT_EXEC, MAP_SHARED, 0);
	char c = p[PAGE];

	munmap(p, N);
	return c;
}

/* Becomes the engine's. */
static char stored(int fd, char c)
{
	char *p = ct_map(fd, N, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	char got;

	p[PAGE] = c;
	if (pread(fd, &got, 1, PAGE) != 1)
		got = 0;
	munmap(p, N);
	return got;
}

/* As many programs do for each thing that they do. */
static char opened(void)
{
	int fd = open(ct_path("b"), O_RDWR);
	char c = first_of(fd);

	close(fd);
	return c;
}

/* After the first time, and fewer than the engine believes it (63). */
static void *many(void *arg)
{
	const int fd = *(int *)arg;
	int good = 0;

	first_of(fd);
	opened();
	trap_calls(SYS_readlinkat, SYS_readlinkat);
	for (int i = 0; i < TIMES / 2; i++) {
		char c = (char)('a' + i % 26);

		good += pwrite(fd, &c, 1, PAGE) == 1 && first_of(fd) == c;
		good += opened() == c;
	}
	say("C88i good: %d of %d", good, TIMES);
	return NULL;
}

int main(int argc, char **argv)
{
	int a, b;
	pthread_t t;

	ct_begin(argc, argv);
	a = ct_file("a", N);
	b = ct_file("b", N);
	if (pwrite(a, "a", 1, PAGE) != 1 || pwrite(b, "b", 1, PAGE) != 1)
		return 1;
	for (int i = 0; i < 3; i++)
		first_of(a);
	dup2(b, a);
	say("C88i after dup2: %c", first_of(a));
	pthread_create(&t, NULL, many, &a);
	pthread_join(t, NULL);
	say("C88i asked: %d", trapped);
	say("C88i stored: %c", stored(a, 'd'));
	say("C88i and seen: %c", first_of(b));
	return 0;
}
