/* SPDX-License-Identifier: MIT */
/* C40: system calls of several threads with buffers in a mapping, into the
 * same pages of the file as others: each of them moves all that it was asked
 * to. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define LEN (24 * PAGE)
#define MOST (3 * PAGE)
#define ROUNDS 10
#define MS 20

static char *map, *alias;
static int fd, plain;
static _Atomic int stop;
static _Atomic long done[8], failed[8];
static _Atomic int why[8];

static uint64_t next(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s >> 33;
}

static void count(int kind, ssize_t got, size_t want)
{
	done[kind]++;
	if (got == (ssize_t)want)
		return;
	failed[kind]++;
	why[kind] = got < 0 ? errno : -1;
}

/* From another file into the mapping. */
static void into_map(uint64_t *s, char *buf)
{
	size_t at = next(s) % (LEN - MOST), n = 1 + next(s) % MOST;

	count(0, pread(plain, map + at, n, (off_t)at), n);
}

static void into_file(uint64_t *s, char *buf)
{
	size_t at = next(s) % (LEN - MOST), n = 1 + next(s) % MOST;

	count(1, pwrite(fd, buf, n, (off_t)at), n);
}

/* From the mapping into its own file. */
static void map_into_file(uint64_t *s, char *buf)
{
	size_t at = next(s) % (LEN - MOST), n = 1 + next(s) % MOST;

	count(2, pwrite(fd, map + next(s) % (LEN - MOST), n, (off_t)at), n);
}

static void out_of_file(uint64_t *s, char *buf)
{
	size_t at = next(s) % (LEN - MOST), n = 1 + next(s) % MOST;

	count(3, pread(fd, buf, n, (off_t)at), n);
}

static void out_of_map(uint64_t *s, char *buf)
{
	size_t at = next(s) % (LEN - MOST), n = 1 + next(s) % MOST;

	count(4, pwrite(plain, map + at, n, (off_t)at), n);
}

static void sync_map(uint64_t *s, char *buf)
{
	count(5, msync(map, LEN, next(s) % 2 ? MS_SYNC : MS_ASYNC), 0);
}

/* A second mapping that comes and goes, and may not always be used. */
static void protect_alias(uint64_t *s, char *buf)
{
	static const int prot[] = { PROT_NONE, PROT_READ, RW };
	size_t first = next(s) % (LEN / PAGE - 4);
	char *p = alias + first * PAGE;

	count(6, mprotect(p, 4 * PAGE, prot[next(s) % 3]), 0);
	mprotect(p, 4 * PAGE, RW);
	for (size_t i = 0; i < 4; i++)
		p[i * PAGE + 7]++;
	mprotect(p, 4 * PAGE, PROT_NONE);
}

static void load_map(uint64_t *s, char *buf)
{
	memcpy(buf, map + next(s) % (LEN - MOST), MOST);
	map[next(s) % LEN] = (char)next(s);
	madvise(map, LEN, MADV_DONTNEED);
	count(7, 0, 0);
}

static void (*const kinds[8])(uint64_t *, char *) = {
	into_map, into_file, map_into_file, out_of_file,
	out_of_map, sync_map, protect_alias, load_map,
};
static const char *const names[8] = {
	"read into the map", "write", "write from the map", "read",
	"write of the map", "msync", "mprotect of an alias", "loads",
};

static void *run(void *arg)
{
	int kind = (int)(intptr_t)arg % 8;
	uint64_t s = (uint64_t)(intptr_t)arg * 77 + 5;
	char *buf = calloc(1, MOST);

	do
		kinds[kind](&s, buf);
	while (!atomic_load(&stop));
	free(buf);
	return NULL;
}

static bool runs(int i, int skip)
{
	return i % 8 != skip && i != 8 + 6; /* one who protects */
}

static void go(int skip)
{
	const int threads = 16;
	pthread_t id[16];

	atomic_store(&stop, 0);
	for (int i = 0; i < threads; i++)
		if (runs(i, skip))
			pthread_create(&id[i], NULL, run, (void *)(intptr_t)i);
	usleep(MS * 1000);
	atomic_store(&stop, 1);
	for (int i = 0; i < threads; i++)
		if (runs(i, skip))
			pthread_join(id[i], NULL);
}

/* Each time with a new file, since collisions hand it to the kernel. */
static void rounds(const char *what, bool aliased)
{
	const int skip = aliased ? -1 : 6;

	memset(done, 0, sizeof(done));
	memset(failed, 0, sizeof(failed));
	for (int r = 0; r < ROUNDS; r++) {
		fd = ct_file("f", LEN);
		map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
		if (aliased)
			alias = ct_map(fd, LEN, RW, MAP_SHARED, 0);
		go(skip);
		if (aliased)
			munmap(alias, LEN);
		munmap(map, LEN);
		close(fd);
		unlink(ct_path("f"));
	}
	for (int k = 0; k < 8; k++)
		if (k != skip)
			say("C40 %s, %s: some %d, failed %ld, errno %d", what,
			    names[k], done[k] > 0, failed[k], why[k]);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	plain = ct_file("plain", LEN);
	rounds("one mapping", false);
	rounds("two mappings", true);
	return 0;
}
