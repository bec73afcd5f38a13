/* SPDX-License-Identifier: MIT */
/*
 * liar.c - in place of fastmap-store: a helper that does not keep to io/far.h,
 * as one that has gone wrong would not. Its source is plugin:WHOLE?HOW. What it
 * says is well it has right, all else is nonsense, and nothing of that may be
 * taken for data.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/far.h"

#define WORKERS 4
#define FEW 8 /* one in so many is a lie */

static struct fm_far *far;
static const char *whole, *how;
static __thread uint64_t seed;

static unsigned roll(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static bool is(const char *what)
{
	return !strcmp(how, what);
}

static void wake(_Atomic uint32_t *word)
{
	if (!is("mute"))
		syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int32_t a_result(int32_t len)
{
	const int32_t lies[] = {
		0, 1, 4096, len - 1, len / 2, len + 1, len + 4096, 2 * len,
		INT_MAX, INT_MIN, -EINTR, -EAGAIN, -ECANCELED, -EBUSY, -ENOMEM,
		-ENOENT, -EEXIST, -ESRCH, -EINVAL, -ENOSPC, -4095, -4096,
	};
	const int32_t lie = lies[roll(sizeof(lies) / sizeof(*lies))];

	return lie == len ? -1 : lie;
}

/* Somewhere, what nobody asked for; the data there are those of an earlier
 * answer. */
static void nonsense(void)
{
	struct fm_far_slot *t = &far->slot[roll(FM_FAR_SLOTS)];

	if (is("turns"))
		atomic_store(&t->state,
			     fm_far_next(t->state + 64, FM_FAR_DONE));
	else if (is("words"))
		atomic_store(&t->state, roll(INT_MAX) << 3 | 7);
	else if (is("zeros"))
		memset(far->slot, 0, sizeof(far->slot));
	else if (is("ends"))
		_exit(0);
	else if (is("cut"))
		(void)!ftruncate(FM_FAR_MEMORY, 0);
}

static void serve(struct fm_far_slot *t, char *data, uint32_t word)
{
	const uint64_t off = t->off, len = t->len;
	const bool lies = roll(FEW) == 0;

	if (lies && !is("results"))
		nonsense();
	if (len > FM_FAR_BYTES || off > INT_MAX)
		return;
	memcpy(data, whole + off, len);
	t->res = (int32_t)len;
	if (lies && is("results")) {
		memset(data, 0xee, FM_FAR_BYTES);
		t->res = a_result((int32_t)len);
	}
	atomic_compare_exchange_strong(&t->state, &word,
				       fm_far_next(word, FM_FAR_DONE));
	wake(&t->state);
	if (atomic_exchange(&far->pump, 0) && !is("mute"))
		(void)!send(FM_FAR_SOCKET, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *worker(void *arg)
{
	seed = (uintptr_t)arg;
	for (;; usleep(50))
		for (unsigned i = 0; i < FM_FAR_SLOTS; i++) {
			struct fm_far_slot *t = &far->slot[i];
			uint32_t word = atomic_load(&t->state);
			const uint32_t busy = fm_far_next(word, FM_FAR_BUSY);

			if (fm_far_step(word) == FM_FAR_POSTED &&
			    atomic_compare_exchange_strong(&t->state, &word,
							   busy))
				serve(t, fm_far_data(far, i), busy);
		}
	return NULL;
}

static void begin(int64_t size)
{
	memset(far->why, '\n', sizeof(far->why));
	far->size = is("larger") ? INT64_MAX : is("less") ? -1 : size;
	far->err = is("no errno") ? INT_MIN : 0;
	atomic_store(&far->state, is("no errno") ? 77 : FM_FAR_READY);
	syscall(SYS_futex, &far->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int main(int argc, char **argv)
{
	char *path = argc > 1 ? strchr(argv[1], ':') : NULL;
	char *args = path ? strchr(path, '?') : NULL;
	struct stat st;
	pthread_t t;
	char byte;
	int fd;

	if (!args)
		return 2;
	*args = 0;
	how = args + 1;
	fd = open(path + 1, O_RDONLY);
	far = mmap(NULL, FM_FAR_ALL, PROT_READ | PROT_WRITE, MAP_SHARED,
		   FM_FAR_MEMORY, 0);
	if (fd < 0 || far == MAP_FAILED || fstat(fd, &st))
		return 2;
	whole = mmap(NULL, (size_t)st.st_size + FM_FAR_BYTES, PROT_READ,
		     MAP_SHARED, fd, 0);
	begin(st.st_size);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t, NULL, worker, (void *)(i + 1));
	(void)!read(FM_FAR_SOCKET, &byte, 1); /* it closes */
	_exit(0);
}
