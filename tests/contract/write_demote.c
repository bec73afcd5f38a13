/* SPDX-License-Identifier: MIT */
/* C46: the program writes the file with pwrite(2) and reads it through its
 * mapping, while another thread makes the kernel take the file over. It always
 * sees what it wrote. */
#include "beside.h"

#define PAGES 64
#define N (PAGES * PAGE)
#define ROUNDS ct_rounds(30, 100)

static char *map;
static int fd;

static void *writer(void *arg CT_UNUSED)
{
	for (uint64_t k = 1; !atomic_load(&stop); k++) {
		size_t off = k * 7 % PAGES * PAGE + 16;

		if (pwrite(fd, &k, sizeof(k), (off_t)off) != sizeof(k))
			failed++;
		else
			bad += memcmp(map + off, &k, sizeof(k)) != 0;
	}
	return NULL;
}

static void one_round(int r)
{
	char name[16];

	snprintf(name, sizeof(name), "f%d", r);
	fd = ct_file(name, N);
	map = ct_map(fd, N, r & 1 ? RW : PROT_READ, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		(void)((volatile char *)map)[i * PAGE];
	beside(map, N, writer, (unsigned)(500 + r * 17 % 500));
	close(fd);
	unlink(ct_path(name));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int r = 0; r < ROUNDS; r++)
		one_round(r);
	say("C46 other bytes %d, failed %d", bad, failed);
	return 0;
}
