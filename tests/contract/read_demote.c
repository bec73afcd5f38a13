/* SPDX-License-Identifier: MIT */
/* C35: read(2) fills a mapping while another thread makes the kernel take the
 * file over. What was read is there afterwards. */
#include "beside.h"

#define N (64 * PAGE)
#define ROUNDS ct_rounds(20, 60)

static int source;
static char *map, want[2 * N];

static void *reader(void *arg CT_UNUSED)
{
	for (unsigned k = 0; !atomic_load(&stop); k++) {
		off_t off = (off_t)(k % 64 * PAGE);
		ssize_t got = pread(source, map, N, off);

		if (got != (ssize_t)N)
			failed++;
		else
			bad += memcmp(map, want + off, N) != 0;
	}
	return NULL;
}

static void one_round(int r, int kind)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "f%d", r);
	fd = ct_file(name, N);
	map = ct_map(fd, N, RW, kind, 0);
	beside(map, N, reader, (unsigned)(1000 + r * 17 % 500));
	close(fd);
	unlink(ct_path(name));
}

static void run(const char *what, int kind)
{
	bad = failed = 0;
	for (int r = 0; r < ROUNDS; r++)
		one_round(r, kind);
	say("C35 %s: other bytes %d, failed %d", what, bad, failed);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	source = ct_file("source", 2 * N);
	if (pread(source, want, 2 * N, 0) != 2 * (ssize_t)N)
		ct_die("pread");
	run("private", MAP_PRIVATE);
	run("shared", MAP_SHARED);
	return 0;
}
