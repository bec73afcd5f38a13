/* SPDX-License-Identifier: MIT */
/* C100: a thread leaves the process's table of descriptors, by each of the
 * calls that do it, while files are mapped; it and others go on storing and
 * mapping. timeout: 300 */
#include "ct.h"

#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#define SIZE (512 * PAGE)
#define FILES 6 /* two before, two of each thread after */

static char *map[FILES];
static int synced[2];
static pthread_barrier_t turn;

static bool by_name(void)
{
	return !unshare(CLONE_FILES);
}

static bool by_number(void)
{
	return !syscall(SYS_unshare, CLONE_FILES);
}

static bool by_instruction(void)
{
	return !ct_raw(SYS_unshare, CLONE_FILES, 0, 0, 0);
}

static bool by_close_range(void)
{
	return !close_range(1u << 20, ~0u, CLOSE_RANGE_UNSHARE);
}

static bool by_close_range_number(void)
{
	return !syscall(SYS_close_range, 1u << 20, ~0u, CLOSE_RANGE_UNSHARE);
}

/* Refused: nothing changes. */
static bool refused(void)
{
	return unshare(CLONE_FILES | 1) == -1 && errno == EINVAL;
}

/* ... and what has been done before stays. */
static bool then_refused(void)
{
	return by_name() && refused();
}

static const struct way {
	const char *name;
	bool (*part)(void);
} ways[] = {
	{ "unshare", by_name },
	{ "its number", by_number },
	{ "an instruction", by_instruction },
	{ "close_range", by_close_range },
	{ "its number", by_close_range_number },
	{ "a call that fails", refused },
	{ "one, and then one that fails", then_refused },
};

static const char *path_of(int k)
{
	char name[16];

	snprintf(name, sizeof(name), "f%d", k);
	return ct_path(name);
}

static void make(int k)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "f%d", k);
	fd = ct_file(name, SIZE);
	ct_uncache(fd);
	map[k] = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	close(fd);
}

static void add(int k, size_t from)
{
	for (size_t i = from; i < SIZE / PAGE; i += 2)
		__atomic_fetch_add(&map[k][i * PAGE + 100], 1,
				   __ATOMIC_RELAXED);
}

static void *parts(void *arg)
{
	const struct way *w = arg;

	add(1, 1);
	say("C100 %s: %d", w->name, w->part());
	pthread_barrier_wait(&turn);
	make(2);
	make(3);
	pthread_barrier_wait(&turn);
	for (int k = 0; k < FILES; k++)
		add(k, 1);
	synced[1] = msync(map[4], SIZE, MS_SYNC);
	pthread_barrier_wait(&turn);
	say("C100 munmap there: %s", ct_errno(munmap(map[1], SIZE) == -1));
	return NULL;
}

static size_t wrong_in(int k, int more)
{
	unsigned char b[PAGE];
	int fd = open(path_of(k), O_RDONLY);
	size_t n = 0;

	for (size_t i = 0; i < SIZE / PAGE; i++) {
		unsigned char want = ct_byte(i * PAGE + 100) + 1;

		want += (unsigned char)(i % 2 ? more : 0);
		if (pread(fd, b, PAGE, (off_t)(i * PAGE)) != PAGE ||
		    b[100] != want || !ct_matches(b, 100, i * PAGE))
			n++;
	}
	close(fd);
	return n;
}

static void try(const struct way *w)
{
	pthread_t t;

	pthread_barrier_init(&turn, NULL, 2);
	make(0);
	make(1);
	add(0, 0);
	pthread_create(&t, NULL, parts, (void *)w);
	pthread_barrier_wait(&turn);
	make(4);
	make(5);
	pthread_barrier_wait(&turn);
	for (int k = 1; k < FILES; k++)
		add(k, 0);
	synced[0] = msync(map[2], SIZE, MS_SYNC);
	pthread_barrier_wait(&turn);
	pthread_join(t, NULL);
	say("C100 msync: %d %d", synced[0], synced[1]);
	for (int k = 0; k < FILES; k++)
		say("C100 file %d: %zu wrong", k, wrong_in(k, k == 1));
	for (int k = 0; k < FILES; k++)
		if (k != 1 && munmap(map[k], SIZE))
			ct_die("munmap");
	for (int k = 0; k < FILES; k++)
		say("C100 later: %zu wrong", wrong_in(k, k == 1));
}

static int tried(void *w)
{
	try(w);
	exit(0);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct way w = ways[i];

		say("C100 ends: %d", ct_child(tried, &w));
	}
	/* The engine serves what has not parted. */
	make(0);
	add(0, 0);
	add(0, 1);
	say("C100 whole: %zu wrong", wrong_in(0, 0));
	return 0;
}
