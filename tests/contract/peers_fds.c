/* SPDX-License-Identifier: MIT */
/* C34: another process has the file mapped, and our descriptors are nearly
 * used up when we map it: it must be found, or the kernel must serve us. */
/* not engaged: the file is always somebody else's as well */
#include "peers.h"

#include <sys/resource.h>

#define N (4 * PAGE)
#define LIMIT 200

static int taken[LIMIT], n;

static void take_all_but(int spare)
{
	while (n < LIMIT && (taken[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	while (spare-- > 0 && n > 0)
		close(taken[--n]);
}

static void give_back(void)
{
	while (n > 0)
		close(taken[--n]);
}

/* Stores that the other side does not see at once. */
static int missed(struct peer p, volatile unsigned char *m)
{
	int bad = 0;

	for (size_t off = 1; off < N; off += PAGE) {
		m[off] = 0x41;
		bad += peer_load(p, off) != 0x41;
		peer_store(p, off, 0x42);
		bad += m[off] != 0x42;
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct rlimit lim = { LIMIT, LIMIT };
	char *first;
	int fd;

	ct_begin(argc, argv);
	peer_role(argc, argv);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	fd = ct_file("first", N);
	first = ct_map(fd, N, RW, MAP_SHARED, 0);
	first[1] = 1;
	for (int spare = 0; spare < 5; spare++) {
		const char *path = strdup(ct_path("f"));
		int f = peer_file("f", N);
		struct peer p = peer_start(argv[0], path, true);
		char *m;

		peer_map(p, RW, N);
		take_all_but(spare);
		m = mmap(NULL, N, RW, MAP_SHARED, f, 0);
		give_back();
		say("C34 %d descriptors left: mapped %d", spare,
		    m != MAP_FAILED);
		if (m != MAP_FAILED)
			say("C34 missed: %d", missed(p, (unsigned char *)m));
		peer_end(p);
		munmap(m, N);
		close(f);
	}
	return 0;
}
