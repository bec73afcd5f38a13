/* SPDX-License-Identifier: MIT */
/* X33: fork before anything is mapped, of a program without threads. Then the
 * child maps, and its child, and the parent after them; what the parent has
 * said by then is not inherited (mlockall), what a handler maps between two
 * forks is seen by the second's child. */
#include "idle.h"

static char *p;

static void unused_grandchild(void)
{
	use("X33", "grandchild");
}

static void forks_before(void)
{
	say_child("X33 grandchild", unused_grandchild);
	use("X33", "child, after its own");
}

static void maps_itself(void)
{
	use("X33", "child");
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
	use("X33", "parent");
	return 0;
}
