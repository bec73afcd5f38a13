/* SPDX-License-Identifier: MIT */
/* store_kept.h - processes whose threads share a cache file that is far too
 * small, and are killed at any time: what they read is right, and not all of it
 * was fetched. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../src/cmd/store_kept.c"

#define SIZE (40u * BLOCK + 777)
#define PROCESSES 3
#define THREADS 4
#define KILLS 60
#define READ_MOST 70000u

static struct seen {
	atomic_ulong reads, fetched, wrong;
} *seen;
static char *whole, path[] = "/var/tmp/fm_kept.XXXXXX";

static int fetch(unsigned w, void *buf, size_t n, uint64_t off)
{
	(void)w;
	atomic_fetch_add(&seen->fetched, 1);
	memcpy(buf, whole + off, n);
	return 0;
}

static void *reads(void *arg)
{
	const unsigned w = (unsigned)(uintptr_t)arg;
	unsigned x = (unsigned)getpid() * 7 + w;
	char *buf = malloc(READ_MOST);

	for (;;) {
		const size_t off = rand_r(&x) % SIZE;
		size_t n = rand_r(&x) % READ_MOST + 1;

		n = n < SIZE - off ? n : SIZE - off;
		if (kept_read(w, buf, n, off) || memcmp(buf, whole + off, n))
			atomic_fetch_add(&seen->wrong, 1);
		atomic_fetch_add(&seen->reads, 1);
	}
	return NULL;
}

static pid_t reader(uint64_t most)
{
	const pid_t pid = fork();
	pthread_t t;

	if (pid)
		return pid;
	if (!kept_open(path, 5, SIZE, most, fetch))
		_exit(1);
	for (uintptr_t i = 1; i < THREADS; i++)
		pthread_create(&t, NULL, reads, (void *)i);
	reads(NULL);
	_exit(0);
}

static void begin(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	whole = malloc(SIZE);
	for (size_t i = 0; i < SIZE; i++)
		whole[i] = (char)(i * 2654435761u >> 13);
	close(mkstemp(path));
}

/* The most that may be kept is a set of blocks, then all. */
static void killed_at_any_time(void **state)
{
	unsigned x = 1;
	pid_t pid[PROCESSES];

	begin();
	for (int i = 0; i < PROCESSES; i++)
		pid[i] = reader(WAYS * BLOCK);
	for (int k = 0; k < KILLS; k++) {
		const int i = k % PROCESSES;

		usleep(rand_r(&x) % 8000);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		if (k + PROCESSES < KILLS)
			pid[i] = reader(k % 7 ? WAYS * BLOCK : 0);
	}
	unlink(path);
	assert_true(atomic_load(&seen->reads) > 0);
	assert_int_equal(atomic_load(&seen->wrong), 0);
}

static void kept_blocks_are_not_fetched(void **state)
{
	char buf[4096];
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	assert_true(kept_open(path, 5, SIZE, 0, fetch));
	for (int round = 0; round < 2; round++) {
		atomic_store(&seen->fetched, 0);
		for (size_t off = 0; off < SIZE; off += BLOCK) {
			const size_t n = SIZE - off < 4096 ? SIZE - off : 4096;

			assert_int_equal(kept_read(0, buf, n, off), 0);
			assert_memory_equal(buf, whole + off, n);
		}
		assert_int_equal(atomic_load(&seen->fetched),
				 round ? 0 : SIZE / BLOCK + 1);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_any_time),
		cmocka_unit_test(kept_blocks_are_not_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
