/* SPDX-License-Identifier: MIT */
/*
 * R92: more threads than any table of handlers has places for look at a mapping
 * that mremap moves to and fro, and find it or get SIGSEGV. It does move.
 */
/* env: FASTMAP_CACHE=256K */
/* timeout: 30 */
#include "ct.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#define PAGES 512ul
#define LEN (PAGES * PAGE)
#define APART (32ul << 20)
#define THREADS 40
#define MOVES 24

static char *at[2];
static atomic_bool stop;
static _Atomic int wrong;
static __thread sigjmp_buf back;

static void not_there(int sig)
{
	siglongjmp(back, sig);
}

static void look(char *m, size_t off)
{
	if (!sigsetjmp(back, 1) && !ct_matches(m + off, 1, off))
		atomic_fetch_add(&wrong, 1);
}

static void *looks(void *arg)
{
	unsigned r = (unsigned)(size_t)arg * 7919 + 1;

	while (!stop) {
		r = r * 1103515245 + 12345;
		look(at[r >> 30 & 1], (r >> 8) % PAGES * PAGE + 9);
	}
	return NULL;
}

static int move(void)
{
	for (int i = 0; i < MOVES; i++) {
		char *to = at[(i + 1) & 1];

		if (mremap(at[i & 1], LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
			   to) != to)
			return i;
		usleep(500);
	}
	return MOVES;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	int fd, moves;

	ct_begin(argc, argv);
	fd = ct_file("f", LEN);
	/* what is free there is nobody else's: stacks come before */
	at[0] = ct_map(-1, 2 * APART, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, 0);
	at[1] = at[0] + APART;
	signal(SIGSEGV, not_there);
	if (mmap(at[0], LEN, RW, MAP_SHARED | MAP_FIXED, fd, 0) != at[0])
		ct_die("mmap");
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, looks, (void *)i);
	moves = move();
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	say("R92 moves %d wrong %d", moves, wrong);
	return 0;
}
