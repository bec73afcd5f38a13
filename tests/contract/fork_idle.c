/* SPDX-License-Identifier: MIT */
/* C29: fork while nothing is mapped, after something was. All faults are
 * served in the children and, after them, in the parent. */
#include "idle.h"

static void in_grandchild(void)
{
	use("C29", "grandchild");
}

static void in_child(void)
{
	use("C29", "child");
	say_child("C29 grandchild", in_grandchild);
	use("C29", "child again");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close(ct_file("f", N));
	munmap(map_file(), N);
	for (int i = 0; i < 3; i++)
		say_child("C29 child", in_child);
	use("C29", "parent");
	return 0;
}
