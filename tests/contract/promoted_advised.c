/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_SOCKET={own}/s */
/*
 * C99a: a file goes to the kernel and comes back, over and over, while threads
 * give advice on parts of it: how many ranges it is in changes at every moment.
 * No byte of the mapping is ever gone.
 */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../stress/ask.h"

#define PAGES 4096ul
#define SIZE (PAGES * PAGE)
#define ADVISERS 3
#define SECONDS ct_rounds(2, 60)

static char *m;
static atomic_bool stop;
static _Atomic int refused;

static void *advise(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;

	while (!stop) {
		size_t at = (size_t)rand_r(&seed) % PAGES * PAGE;

		if (madvise(m + at, PAGE, MADV_WILLNEED))
			atomic_fetch_add(&refused, 1);
		if (!(seed & 63))
			usleep(1);
	}
	return NULL;
}

static bool all_mapped(void)
{
	static unsigned char vec[PAGES];

	return !mincore(m, SIZE, vec);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + SECONDS;
	pthread_t thread[ADVISERS];
	bool whole = true;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", SIZE);
	m = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	memset(m, 1, SIZE);
	for (size_t i = 0; i < ADVISERS; i++)
		pthread_create(&thread[i], NULL, advise, (void *)(i + 1));
	while (whole && time(NULL) < end) {
		if (!ask("demote\n"))
			usleep(1000);
		ask("promote\n");
		whole = all_mapped();
	}
	stop = true;
	for (size_t i = 0; i < ADVISERS; i++)
		pthread_join(thread[i], NULL);
	say("C99a all of it is mapped: %d", whole && all_mapped());
	say("C99a advice that was refused: %d", refused);
	for (size_t i = 0; whole && i < PAGES; i++)
		whole = m[i * PAGE] == 1 && m[i * PAGE + PAGE - 1] == 1;
	say("C99a its bytes are what was stored: %d", whole);
	return 0;
}
