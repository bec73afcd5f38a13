/* SPDX-License-Identifier: MIT */
/* K33: the first file is mapped while other threads make threads without a
 * pause. libc blocks all signals in each for a moment. */
#include "ct.h"

#include <pthread.h>

#define MAKERS 24
#define PAGES 16ul

static _Atomic bool stop;

static void *born(void *arg)
{
	return arg;
}

static void *maker(void *arg)
{
	pthread_t t;

	while (!stop)
		if (!pthread_create(&t, NULL, born, NULL))
			pthread_join(t, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[MAKERS];
	size_t good = 0;
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	for (int i = 0; i < MAKERS; i++)
		if (pthread_create(&t[i], NULL, maker, NULL))
			ct_die("pthread_create");
	usleep(20000);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < PAGES; i++)
		good += ct_matches(p + i * PAGE, PAGE, i * PAGE);
	stop = true;
	for (int i = 0; i < MAKERS; i++)
		pthread_join(t[i], NULL);
	say("K33 content: %zu", good);
	return 0;
}
