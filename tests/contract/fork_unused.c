/* SPDX-License-Identifier: MIT */
/* X33: fork before anything is mapped, of a program without threads. Then the
 * child maps, and its child, and the parent after them; what the parent has
 * said by then is not inherited (mlockall), what a handler maps between two
 * forks is seen by the second's child. */
#include "ct.h"

#define N (64 * PAGE)

static char *p;

static char *map_file(void)
{
	int fd = open(ct_path("f"), O_RDWR);
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);

	close(fd);
	return m;
}

static void use(const char *who)
{
	char *m = map_file();
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		bad += !ct_matches(m + i + 8, 64, i + 8);
	m[0]++;
	m[N - 1]++;
	say("X33 %s: wrong %d, after %d stores", who, bad,
	    (unsigned char)m[0] - ct_byte(0));
	munmap(m, N);
}

static void unused_grandchild(void)
{
	use("grandchild");
}

static void forks_before(void)
{
	say_child("X33 grandchild", unused_grandchild);
	use("child, after its own");
}

static void maps_itself(void)
{
	use("child");
	say_child("X33 child's child", unused_grandchild);
}

static void sees_parents(void)
{
	say("X33 mapped by a handler: %d", ct_matches(p + PAGE, 64, PAGE));
	p[2 * PAGE]++;
}

static void on_usr1(int sig)
{
	p = map_file();
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close(ct_file("f", N));
	say_child("X33 child", maps_itself);
	say_child("X33 child", forks_before);
	mlockall(MCL_FUTURE);
	say_child("X33 child", maps_itself);
	munlockall();
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	say_child("X33 child", sees_parents);
	say("X33 stored by the child: %d",
	    (unsigned char)p[2 * PAGE] - ct_byte(2 * PAGE));
	munmap(p, N);
	use("parent");
	return 0;
}
