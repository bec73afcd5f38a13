/* SPDX-License-Identifier: MIT */
/*
 * store_main.c - fastmap-store: reads sources for the engine of a preloaded
 * program, which starts it (io/backing_far.c) and shares memory with it. It
 * ends when the program, and all of its children that share the engine's
 * descriptors, have.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/far.h"
#include "store_helper.h"

static const struct store_kind *const kinds[] = {
#define FM_SOURCE(prefix, where, kind) &store_##kind,
#define FM_SOURCE_UNSHOWN(prefix, kind)
#include "sources.def"
};
static const struct store_kind *kind;
static struct fm_far *far;
uint64_t store_memory;

static void store_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

static void store_sleep(_Atomic uint32_t *word, uint32_t was)
{
	syscall(SYS_futex, word, FUTEX_WAIT, was, NULL, NULL, 0);
}

static void store_says(uint32_t state, int err)
{
	far->err = err;
	atomic_store(&far->state, state);
	store_wake(&far->state, INT_MAX);
}

/* Held for each read; by who closes the source for good. */
static pthread_rwlock_t reading = PTHREAD_RWLOCK_INITIALIZER;

static int store_read(unsigned worker, void *buf, size_t n, uint64_t off)
{
	int err;

	pthread_rwlock_rdlock(&reading);
	err = kind->read(worker, buf, n, off);
	pthread_rwlock_unlock(&reading);
	return err;
}

/* Where it dies in the middle its end of the socket says so. */
static void store_serve(unsigned worker, unsigned i, uint32_t word)
{
	struct fm_far_slot *t = &far->slot[i];
	const uint64_t len = t->len;
	const uint64_t off = t->off;
	int err = EIO;

	if (len <= FM_FAR_BYTES && off <= (uint64_t)far->size &&
	    len <= (uint64_t)far->size - off)
		err = store_read(worker, fm_far_data(far, i), (size_t)len, off);
	t->res = err ? -fm_far_errno(err) : (int32_t)len;
	atomic_store(&t->state, fm_far_next(word, FM_FAR_DONE));
	store_wake(&t->state, INT_MAX);
	if (atomic_exchange(&far->pump, 0))
		(void)!send(FM_FAR_SOCKET, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool store_turn(unsigned worker)
{
	bool any = false;

	for (unsigned i = 0; i < FM_FAR_SLOTS; i++) {
		_Atomic uint32_t *state = &far->slot[i].state;
		uint32_t word = atomic_load(state);

		if (fm_far_step(word) != FM_FAR_POSTED ||
		    !atomic_compare_exchange_strong(
			    state, &word, fm_far_next(word, FM_FAR_BUSY)))
			continue;
		store_serve(worker, i, word);
		any = true;
	}
	return any;
}

static void *store_worker(void *arg)
{
	for (;;) {
		const uint32_t seen = atomic_load(&far->posted);

		if (!store_turn((unsigned)(uintptr_t)arg))
			store_sleep(&far->posted, seen);
	}
	return NULL;
}

static void store_workers(void)
{
	unsigned n = kind->workers(STORE_WORKERS);
	pthread_t t;

	for (uintptr_t i = 0; i < n; i++)
		if (pthread_create(&t, NULL, store_worker, (void *)i) && !i)
			exit(1);
}

#define CLOSE_S 10 /* seconds, for the reads under way, too */

static void *store_give_up(void *arg)
{
	sleep(CLOSE_S);
	_exit(1);
}

/* The program's: who reads what it writes waits for the last that has them. */
static void let_go_of_stdio(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
}

static void store_close(void)
{
	pthread_t t;

	if (!kind->close || pthread_create(&t, NULL, store_give_up, NULL))
		return;
	if (pthread_rwlock_trywrlock(&reading)) {
		let_go_of_stdio();
		pthread_rwlock_wrlock(&reading);
	}
	kind->close();
}

static int store_open(const char *source)
{
	size_t n = 0;
	int err = EINVAL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !kind; i++) {
		n = strlen(kinds[i]->prefix);
		if (!strncmp(kinds[i]->prefix, source, n))
			kind = kinds[i];
	}
	if (kind)
		err = kind->open(source + n, far->why, sizeof(far->why));
	if (err)
		return store_errno(err);
	errno = EIO;
	far->size = kind->get_size();
	if (far->size >= 0 && far->size <= FM_FAR_MOST)
		return 0;
	err = far->size < 0 ? store_errno(errno) : EFBIG;
	snprintf(far->why, sizeof(far->why), "its size %s",
		 err == EFBIG ? "is too large" : "cannot be had");
	store_close();
	return err;
}

/* Nothing comes this way but the end. */
static void store_wait_for_end(void)
{
	struct pollfd p = { .fd = FM_FAR_SOCKET };

	while (poll(&p, 1, -1) < 0 || !(p.revents & (POLLHUP | POLLERR)))
		;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2) {
		fprintf(stderr, "fastmap-store: started by libfastmap\n");
		return 2;
	}
	far = mmap(NULL, FM_FAR_ALL, PROT_READ | PROT_WRITE, MAP_SHARED,
		   FM_FAR_MEMORY, 0);
	if (far == MAP_FAILED || far->magic != FM_FAR_MAGIC)
		return 2;
	store_memory = far->memory;
	prctl(PR_SET_NAME, "fastmap-store");
	err = store_open(argv[1]);
	if (!err)
		store_workers();
	store_says(err ? FM_FAR_FAILED : FM_FAR_READY, err);
	if (!err) {
		store_wait_for_end();
		store_close();
	}
	_exit(err != 0);
}
