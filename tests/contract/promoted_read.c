/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_PROMOTE=10 */
/*
 * C99r: a large mapping that may only be read is the kernel's while another
 * process stores to the file, and the engine's again: what is read from a pipe
 * into it is refused at any time, by name and by instruction, and a store of
 * our own raises SIGSEGV.
 */
#include "peers.h"

#define PAGES 1024ul
#define MOST_MS 1500

static char *m;

static void refused(const char *when)
{
	int p[2], by_name, by_number;

	if (pipe(p) || write(p[1], "ab", 2) != 2)
		ct_die("pipe");
	by_name = read(p[0], m + 5, 1) < 0 ? errno : 0;
	by_number = (int)-ct_raw(SYS_read, p[0], (long)m + 9000, 1, 0);
	say("C99r %s: read %s, by number %s, store %d, there %d", when,
	    strerrorname_np(by_name), strerrorname_np(by_number),
	    ct_store(m + 5, 1), ct_matches(m, 100, 0));
	close(p[0]);
	close(p[1]);
}

int main(int argc, char **argv)
{
	const char *path;
	struct peer p;
	int fd;

	ct_begin(argc, argv);
	peer_role(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	path = strdup(ct_path("f"));
	m = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	refused("mapped");
	p = peer_start(argv[0], path, true);
	peer_map(p, RW, PAGES * PAGE);
	peer_store(p, 100 * PAGE, 1);
	peer_end(p);
	refused("after the other");
	for (int ms = 0; ms < MOST_MS && ct_is_the_kernels(m); ms += 10)
		if (getenv("FASTMAP_PATHS"))
			usleep(10000);
	refused("promoted");
	return 0;
}
