/* SPDX-License-Identifier: MIT */
/* M80, R80: another part of the file takes the place of the one that threads
 * read, by MAP_FIXED and by mremap: they see the one or the other, and no
 * signal. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PART (64 * PAGE)
#define ROUNDS 200

static int fd;
static char *at;
static _Atomic bool stop;
static _Atomic unsigned wrong;

static void *reader(void *seed)
{
	unsigned r = (unsigned)(uintptr_t)seed;

	while (!stop) {
		char c;

		r = r * 1103515245 + 12345;
		c = *(volatile char *)(at + (r >> 8) % PART);
		wrong += c != 7 && c != 9;
	}
	return NULL;
}

/* Always the same instruction and address: what is raced with once may be
 * again. */
static void *reader_of_one(void *unused)
{
	while (!stop)
		wrong += !*(volatile char *)at;
	return unused;
}

static void replace(off_t off, int prot)
{
	if (mmap(at, PART, prot, MAP_SHARED | MAP_FIXED, fd, off) != at)
		ct_die("mmap");
}

static void move(off_t off, int prot)
{
	char *p = ct_map(fd, PART, prot, MAP_SHARED, off);

	if (ct_load(p) < 0 ||
	    mremap(p, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		ct_die("mremap");
}

static void run(const char *row, void (*change)(off_t off, int prot))
{
	unsigned after = 0;

	wrong = 0;
	for (int i = 0; i < ROUNDS; i++) {
		change(i & 1 ? 0 : PART, i & 2 ? RW : PROT_READ);
		for (size_t off = 0; off < PART; off += 8 * PAGE)
			after += at[off] != (i & 1 ? 7 : 9);
	}
	say("%s wrong: meanwhile %u, afterwards %u", row, wrong, after);
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	ct_begin(argc, argv);
	fd = ct_file("f", 2 * PART);
	at = ct_map(fd, 2 * PART, RW, MAP_SHARED, 0);
	memset(at, 7, PART);
	memset(at + PART, 9, PART);
	munmap(at, 2 * PART);
	at = ct_map(fd, PART, RW, MAP_SHARED, 0);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, reader, (void *)(i + 1));
	pthread_create(&t[2], NULL, reader_of_one, NULL);
	run("M80", replace);
	run("R80", move);
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
