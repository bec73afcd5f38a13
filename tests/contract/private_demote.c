/* SPDX-License-Identifier: MIT */
/* C47: threads store to a private mapping that may be written, but not read,
 * while another thread makes the kernel take the file over. No store raises a
 * signal, none is lost, and the file does not change. */
#include "beside.h"

#define PAGES 48
#define N (PAGES * PAGE)
#define ROUNDS ct_rounds(45, 150)
#define STORERS 3

static char *map;
static _Atomic uint64_t noted[PAGES];
static int lost;

static void *storer(void *arg)
{
	size_t first = (size_t)(uintptr_t)arg;

	for (uint64_t v = 1; !atomic_load(&stop); v++) {
		size_t p = first + v * STORERS % PAGES;

		*(volatile uint64_t *)(map + p * PAGE + 8) = v;
		atomic_store(&noted[p], v);
	}
	return NULL;
}

static void *store_all(void *arg CT_UNUSED)
{
	pthread_t t[STORERS];

	for (size_t i = 0; i < STORERS; i++)
		pthread_create(&t[i], NULL, storer, (void *)(uintptr_t)i);
	for (size_t i = 0; i < STORERS; i++)
		pthread_join(t[i], NULL);
	if (mprotect(map, N, PROT_READ))
		failed++;
	for (size_t p = 0; p < PAGES; p++)
		lost += noted[p] &&
			*(uint64_t *)(map + p * PAGE + 8) != noted[p];
	return NULL;
}

static void on_segv(int sig CT_UNUSED)
{
	static const char text[] = "C47 a store raised SIGSEGV\n";

	_exit(write(1, text, sizeof(text) - 1) > 0 ? 98 : 97);
}

static void one_round(int r)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "f%d", r);
	fd = ct_file(name, N);
	memset((void *)noted, 0, sizeof(noted));
	map = ct_map(fd, N, PROT_WRITE, MAP_PRIVATE, 0);
	beside(map, N, store_all, (unsigned)(200 + r * 17 % 600));
	for (size_t p = 0; p < PAGES; p++) {
		uint64_t v, want;

		for (size_t i = 0; i < 8; i++)
			((unsigned char *)&want)[i] = ct_byte(p * PAGE + 8 + i);
		bad += pread(fd, &v, 8, (off_t)(p * PAGE + 8)) != 8 ||
			  v != want;
	}
	close(fd);
	unlink(ct_path(name));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	signal(SIGSEGV, on_segv);
	for (int r = 0; r < ROUNDS; r++)
		one_round(r);
	say("C47 lost %d, in the file %d, failed %d", lost, bad,
	    failed);
	return 0;
}
