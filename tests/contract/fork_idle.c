/* SPDX-License-Identifier: MIT */
/* C29: fork while nothing is mapped, after something was. All faults are
 * served in the children and, after them, in the parent. */
#include "ct.h"

#define N (64 * PAGE)

static char *map_file(void)
{
	int fd = open(ct_path("f"), O_RDWR);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	close(fd); /* who has it open counts as another user */
	return p;
}

static void use(const char *who)
{
	char *p = map_file();
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		bad += !ct_matches(p + i + 8, 64, i + 8);
	p[0]++;
	p[N - 1]++;
	say("C29 %s: wrong %d, after %d stores", who, bad,
	    (unsigned char)p[0] - ct_byte(0));
	munmap(p, N);
}

static void in_grandchild(void)
{
	use("grandchild");
}

static void in_child(void)
{
	use("child");
	say_child("C29 grandchild", in_grandchild);
	use("child again");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close(ct_file("f", N));
	munmap(map_file(), N);
	for (int i = 0; i < 3; i++)
		say_child("C29 child", in_child);
	use("parent");
	return 0;
}
