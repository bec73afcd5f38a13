/* SPDX-License-Identifier: MIT */
/* C88: a file that is not ours is mapped over and over while another one is:
 * where it lies is not asked each time. Another file by the same descriptor
 * shows what is in it. */
#include "traps.h"

#include <pthread.h>

#define TIMES 60

static int outside(const char *text)
{
	int fd = memfd_create("outside", 0);

	if (fd < 0 || ftruncate(fd, PAGE) || pwrite(fd, text, 1, 0) != 1)
		ct_skip("no memfd");
	return fd;
}

static char first_of(int fd)
{
	char *p = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, 0), c = *p;

	munmap(p, PAGE);
	return c;
}

/* After the first time, and fewer than the engine believes it (63). */
static void *many(void *arg)
{
	const int fd = *(int *)arg;
	int good = 0;

	first_of(fd);
	trap_calls(SYS_readlinkat, SYS_readlinkat);
	for (int i = 0; i < TIMES; i++)
		good += first_of(fd) == 'a';
	say("C88 good: %d of %d", good, TIMES);
	return NULL;
}

int main(int argc, char **argv)
{
	int ours, a, b;
	volatile char *p;
	pthread_t t;

	ct_begin(argc, argv);
	ours = ct_file("ours", 64 * PAGE);
	p = ct_map(ours, 64 * PAGE, PROT_READ, MAP_SHARED, 0);
	(void)p[PAGE];
	a = outside("a");
	b = outside("b");
	for (int i = 0; i < 3; i++)
		first_of(a);
	dup2(b, a);
	say("C88 after dup2: %c", first_of(a));
	dup2(ours, a);
	say("C88 ours: %d", first_of(a) == *p);
	close(a);
	a = outside("a");
	pthread_create(&t, NULL, many, &a);
	pthread_join(t, NULL);
	say("C88 asked: %d", trapped);
	return 0;
}
