/* SPDX-License-Identifier: MIT */
/* K38: threads have small alternate signal stacks where no file can be the
 * engine's. */
/* not engaged: that is what it is about */
/* env: FASTMAP_SERVE=kernel */
#include "small_stacks.h"

static void *user(void *arg)
{
	ss_give();
	ss_use(arg);
	return arg;
}

static void in_thread(const char *what)
{
	pthread_t t;

	if (pthread_create(&t, NULL, user, (void *)(uintptr_t)what))
		ct_die("pthread_create");
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	char *p;

	ss_begin(argc, argv);
	user((void *)(uintptr_t) "K38 main");
	in_thread("K38 thread");
	ss_use("K38 main beside it");
	p = ct_map(ct_file("f", PAGE), PAGE, PROT_READ, MAP_SHARED, 0);
	say("K38 mapped: %d", ct_matches(p, PAGE, 0));
	in_thread("K38 thread, mapped");
	return 0;
}
