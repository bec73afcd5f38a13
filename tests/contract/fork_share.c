/* SPDX-License-Identifier: MIT */
/* C19, C26: children and threads on one mapping. */
#include "ct.h"

#include <pthread.h>

static int fd;
static char *s, *p, *late;

static void child(void)
{
	say("C19 child sees parent's store: %02x", s[0]);
	s[PAGE] = 0x22;
	say("C19 child reads the rest: %d",
	    ct_matches(s + 32 * PAGE, 32 * PAGE, 32 * PAGE));
	p[2 * PAGE] = 0x23;
	say("C19 child's private: %02x", p[2 * PAGE]);
}

static void child_unmaps(void)
{
	munmap(s, 64 * PAGE);
	say_load("C19 unmapped in the child", s, 0);
}

static void child_maps(void)
{
	late = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	say("C19 child's own map: %02x", late[0]);
	late[3 * PAGE] = 0x24;
}

/* Both processes store to the same page in turns, in lock step by pipes. */
static void ping_pong(void)
{
	int a[2], b[2], bad = 0;
	char c = 0;
	pid_t pid;

	if (pipe(a) || pipe(b))
		ct_die("pipe");
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 50; i++) {
			if (read(a[0], &c, 1) != 1)
				_exit(1);
			s[4 * PAGE] = (char)(s[4 * PAGE] + 1);
			if (write(b[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	s[4 * PAGE] = 0;
	for (int i = 0; i < 50; i++) {
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
			ct_die("pipe");
		bad += s[4 * PAGE] != 2 * i + 1;
		s[4 * PAGE] = (char)(s[4 * PAGE] + 1);
	}
	waitpid(pid, NULL, 0);
	say("C19 missed by either: %d, sum %d", bad, s[4 * PAGE]);
}

static char *race_map;
static pthread_barrier_t barrier;

static void *race(void *arg)
{
	long bad = 0;

	for (int round = 0; round < 64; round++) {
		pthread_barrier_wait(&barrier);
		bad += !ct_matches(race_map + round * (int)PAGE, PAGE,
				   (uint64_t)round * PAGE);
	}
	return (void *)(bad + (long)arg * 0);
}

static void racing_threads(void)
{
	pthread_t t[8];
	long bad = 0;
	void *r;
	int f = ct_file("race", 64 * PAGE);

	race_map = ct_map(f, 64 * PAGE, RW, MAP_SHARED, 0);
	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, race, NULL))
			ct_die("pthread_create");
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		bad += (long)r;
	}
	say("C26 wrong pages in racing threads: %ld", bad);
}

static char *own;

static void child_of_own(void)
{
	say("C19 child sees the parent's own pages: %02x %02x", own[0],
	    own[63 * PAGE]);
	own[PAGE] = 0x77;
}

/* Many own pages beside a writable shared mapping of another file. The child
 * must have no hand in them. */
static void own_pages(void)
{
	int f = ct_file("own", 64 * PAGE), g = ct_file("other", 8 * PAGE);
	char *other = ct_map(g, 8 * PAGE, RW, MAP_SHARED, 0);
	int sum = 0;

	own = ct_map(f, 64 * PAGE, RW, MAP_PRIVATE, 0);
	other[PAGE] = 1;
	for (int i = 0; i < 64; i++)
		own[i * (int)PAGE] = 1;
	for (int round = 0; round < 3; round++) {
		say_child("C19 own pages", child_of_own);
		for (int i = 0; i < 64; i++)
			own[i * (int)PAGE]++;
	}
	for (int i = 0; i < 64; i++)
		sum += own[i * (int)PAGE];
	say("C19 parent's stores to own pages: %d", sum);
	say("C19 still isolated: %d", ct_in_file(f, PAGE) == ct_byte(PAGE));
	munmap(other, 8 * PAGE);
	munmap(own, 64 * PAGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	own_pages();
	racing_threads();
	fd = ct_file("f", 64 * PAGE);
	s = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	p = ct_map(fd, 64 * PAGE, RW, MAP_PRIVATE, 0);
	s[0] = 0x11;
	p[2 * PAGE] = 0x12;
	say_child("C19 child", child);
	say("C19 parent sees child's store: %02x", s[PAGE]);
	say("C19 parent's private: %02x, file %d", p[2 * PAGE],
	    ct_in_file(fd, 2 * PAGE) == ct_byte(2 * PAGE));
	say_child("C19 unmap", child_unmaps);
	say("C19 parent still mapped: %02x", s[0]);
	say_child("C19 map", child_maps);
	say("C19 parent sees the store: %02x", s[3 * PAGE]);
	s[5 * PAGE] = 0x15;
	say("C19 after the children: %02x", ct_in_file(fd, 5 * PAGE));
	ping_pong();
	return 0;
}
