/* SPDX-License-Identifier: MIT */
/* U13: a file is mapped and unmapped many times, a few pages are used each
 * time: the memory of the process does not grow. */
#include "ct.h"

#define N (256 * PAGE)
#define ROUNDS ct_rounds(800, 6000)

static long resident_kib(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int rounds(int fd, int n)
{
	int bad = 0;

	for (int r = 0; r < n; r++) {
		char *m = ct_map(fd, N, PROT_READ, MAP_SHARED, (off_t)N);

		for (size_t p = 0; p < 4; p++) {
			size_t at = ((size_t)r * 7 + p * 64) % 256 * PAGE;

			bad += (unsigned char)m[at] != ct_byte(N + at);
		}
		munmap(m, N);
	}
	return bad;
}

int main(int argc, char **argv)
{
	long before, grown;
	int fd, bad;
	char *stays;

	ct_begin(argc, argv);
	fd = ct_file("f", 2 * N);
	stays = ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	bad = (unsigned char)stays[PAGE] != ct_byte(PAGE);
	bad += rounds(fd, ROUNDS);
	before = resident_kib();
	bad += rounds(fd, ROUNDS);
	grown = resident_kib() - before;
	if (grown > 256)
		printf("grown by %ld KiB\n", grown);
	say("U13 wrong %d, grows: %s", bad, grown > 256 ? "yes" : "no");
	return 0;
}
