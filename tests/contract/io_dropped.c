/* SPDX-License-Identifier: MIT */
/* C40d: write(2) from a mapping brings its pages in one by one, while another
 * thread changes the file where the first of them are: all is written. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define LEN (256 * PAGE)
#define TIMES 40

static char *map;
static int fd;
static _Atomic int stop;
static _Atomic long changes;

static void *change(void *arg CT_UNUSED)
{
	char page[PAGE];

	for (size_t i = 0; i < PAGE; i++)
		page[i] = (char)ct_byte(i);
	for (long n = 0; !atomic_load(&stop); n++) {
		if (pwrite(fd, page, n % 3 ? 100 : PAGE, 0) < 0)
			ct_die("pwrite");
		changes++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char back[LEN];
	int out, less = 0, bad = 0;
	pthread_t id;

	ct_begin(argc, argv);
	fd = ct_file("f", LEN);
	out = ct_file("out", 0);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	pthread_create(&id, NULL, change, NULL);
	for (int i = 0; i < TIMES; i++) {
		madvise(map, LEN, MADV_DONTNEED);
		less += pwrite(out, map, LEN, 0) != (ssize_t)LEN;
		bad += pread(out, back, LEN, 0) != (ssize_t)LEN ||
		       !ct_matches(back, LEN, 0);
	}
	atomic_store(&stop, 1);
	pthread_join(id, NULL);
	say("C40d of %d writes: %d short or refused, %d with other bytes; changes: %d",
	    TIMES, less, bad, changes > 100);
	return 0;
}
