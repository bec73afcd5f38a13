/* SPDX-License-Identifier: MIT */
/* C95d: threads take away and give back the permission to one mapping of a
 * file; what is read through another one, whose pages are dropped all the time,
 * is there. And what may not be used stays so.
 */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 16
#define LEN (PAGES * PAGE)

static char *map, *alias;
static atomic_int stop;

static void *deny(void *arg CT_UNUSED)
{
	while (!stop) {
		mprotect(alias, LEN, PROT_NONE);
		mprotect(alias, LEN, PROT_READ);
	}
	return NULL;
}

static int look(void)
{
	int bad = 0;

	for (int r = ct_rounds(60, 1500); r > 0; r--) {
		for (int i = 0; i < PAGES; i++)
			bad += ct_load(map + i * PAGE) != i + 1;
		madvise(map, LEN, MADV_DONTNEED);
	}
	return bad;
}

int main(int argc, char **argv)
{
	pthread_t id[2];
	int fd, bad, open = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	alias = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		alias[i * PAGE] = (char)(i + 1);
	for (int i = 0; i < 2; i++)
		pthread_create(&id[i], NULL, deny, NULL);
	bad = look();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	mprotect(alias, LEN, PROT_NONE);
	for (int i = 0; i < PAGES; i++) {
		open += ct_load(alias + i * PAGE) >= 0;
		open += ct_store(alias + i * PAGE, 1) >= 0;
	}
	say("C95d wrong bytes %d, pages that may be used all the same %d", bad,
	    open);
	return 0;
}
