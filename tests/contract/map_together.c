/* SPDX-License-Identifier: MIT */
/* C33: two threads map one file for the first time at the same moment, one of
 * them with a mapping that is too short for the engine. Both must show the
 * same bytes. */
/* env: FASTMAP_MIN_SIZE=64K */
#include "ct.h"

#include <pthread.h>

#define N (1ul << 20)
#define ROUNDS 400

static int fd;
static char *whole, *part;
static pthread_barrier_t start, made;

static void *short_one(void *arg CT_UNUSED)
{
	for (int r = 0; r < ROUNDS; r++) {
		pthread_barrier_wait(&start);
		for (volatile int k = r * 53 % 2000; k > 0; k--)
			;
		part = ct_map(fd, PAGE, RW, MAP_SHARED, 0);
		pthread_barrier_wait(&made);
	}
	return NULL;
}

/* Each stores; does the other see it? */
static int disagree(int r)
{
	volatile char *a = whole, *b = part;
	int bad;

	a[1] = (char)r;
	bad = b[1] != (char)r;
	b[2] = (char)(r + 1);
	return bad | (a[2] != (char)(r + 1));
}

static void create(int r)
{
	char name[16];

	snprintf(name, sizeof(name), "f%d", r);
	fd = open(ct_path(name), O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)N))
		ct_die("open");
}

/* In the rounds the kernel may have been first each time. */
static void alone(void)
{
	create(ROUNDS);
	whole = ct_map(fd, N, RW, MAP_SHARED, 0);
	whole[1] = 1;
	say("C33 alone: %d", whole[1]);
	munmap(whole, N);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t t;
	int bad = 0;
	char name[16];

	ct_begin(argc, argv);
	pthread_barrier_init(&start, NULL, 2);
	pthread_barrier_init(&made, NULL, 2);
	pthread_create(&t, NULL, short_one, NULL);
	for (int r = 0; r < ROUNDS; r++) {
		create(r);
		pthread_barrier_wait(&start);
		whole = ct_map(fd, N, RW, MAP_SHARED, 0);
		pthread_barrier_wait(&made);
		bad += disagree(r);
		munmap(whole, N);
		munmap(part, PAGE);
		close(fd);
		snprintf(name, sizeof(name), "f%d", r);
		unlink(ct_path(name));
	}
	pthread_join(t, NULL);
	alone();
	say("C33 rounds in which the two disagree: %d", bad);
	return 0;
}
