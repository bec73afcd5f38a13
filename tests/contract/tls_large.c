/* SPDX-License-Identifier: MIT */
/* X04: a program with 2 MiB of thread-local variables. Each thread has a block
 * of them, those of the library as well, and what watches over the death of the
 * program. */
#include "ct.h"

#include <pthread.h>

#define PAGES 256ul
#define BLOCK (2ul << 20)

static __thread volatile char block[BLOCK];
static int fd;
static char *p;

static void *user(void *arg CT_UNUSED)
{
	int wrong = 0;

	for (size_t i = 0; i < BLOCK; i += PAGE)
		wrong += block[i];
	for (size_t i = 0; i < PAGES; i++) {
		wrong += p[i * PAGE] != (char)ct_byte(i * PAGE);
		block[i * PAGE] = ++p[i * PAGE + 1];
	}
	say("X04 wrong: %d", wrong);
	return NULL;
}

/* Stores, and is killed. */
static void killed(void)
{
	char *q = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (size_t i = 0; i < PAGES; i++)
		q[i * PAGE + 2] = 0x42;
	block[0] = 1;
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	pthread_t t;
	int there = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	say_child("X04", killed);
	for (int tries = 0; tries < 500 && there < (int)PAGES; tries++) {
		there = 0;
		for (size_t i = 0; i < PAGES; i++)
			there += ct_in_file(fd, (off_t)(i * PAGE + 2)) == 0x42;
		if (there < (int)PAGES)
			usleep(20000);
	}
	say("X04 in the file: %d", there);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	user(NULL);
	if (pthread_create(&t, NULL, user, NULL))
		ct_die("pthread_create");
	pthread_join(t, NULL);
	say("X04 stored: %d", p[PAGE + 1] == (char)(ct_byte(PAGE + 1) + 2));
	return 0;
}
