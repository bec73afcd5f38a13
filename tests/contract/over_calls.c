/* SPDX-License-Identifier: MIT */
/* M81, R81: system calls use what MAP_FIXED and mremap replace at the same
 * time: none fails, or moves less than it was asked for. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PARTS 8
#define PART (64 * PAGE)
#define ROUNDS ct_rounds(200, 400)
#define OFTEN ct_rounds(400, 1000)

static int fd, out, in;
static char *at;
static _Atomic bool stop;
static _Atomic long bad, often;

static void note(ssize_t n, size_t want)
{
	bad += n != (ssize_t)want;
	often++;
}

static void *caller(void *which)
{
	while (!stop)
		switch ((uintptr_t)which) {
		case 0:
			note(pwrite(out, at, PART, 0), PART);
			break;
		case 1:
			note(pwrite(out, at + PAGE, 100, 0), 100);
			break;
		default:
			note(pread(in, at + PART / 2, 2 * PAGE, 0), 2 * PAGE);
			break;
		}
	return NULL;
}

static void replace(off_t off)
{
	if (mmap(at, PART, RW, MAP_SHARED | MAP_FIXED, fd, off) != at)
		ct_die("mmap");
}

static void move(off_t off)
{
	char *p = ct_map(fd, PART, RW, MAP_SHARED, off);

	if (ct_load(p) < 0 ||
	    mremap(p, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		ct_die("mremap");
}

static void run(const char *row, void (*change)(off_t off))
{
	pthread_t t[3];

	bad = often = 0;
	stop = false;
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, caller, (void *)i);
	for (int i = 0; i < ROUNDS || often < OFTEN; i++) {
		change((off_t)(i % PARTS * PART));
		if (i % 3 == 0)
			usleep(100);
	}
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	say("%s calls that failed or were cut: %ld", row, bad);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", PARTS * PART);
	out = ct_file("out", PART);
	in = ct_file("in", 2 * PAGE);
	at = ct_map(fd, PART, RW, MAP_SHARED, 0);
	run("M81", replace);
	run("R81", move);
	return 0;
}
