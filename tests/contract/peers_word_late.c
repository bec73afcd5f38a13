/* SPDX-License-Identifier: MIT */
/*
 * C67: another process opens a file that we read, stores to it by a mapping and
 * sends word, while the thread that has to look at what it does stands still.
 */
#include "peers.h"
#include "stopped.h"

#define PAGES 16
#define ROUNDS 3
#define STILL_MS 700

static int old;

static void one(const char *self, int round)
{
	int fd = peer_file("f", PAGES * PAGE);
	volatile char *m = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	const int value = 40 + round;
	struct peer p;

	for (size_t i = 0; i < PAGES; i++)
		old += m[i * PAGE] != (char)ct_byte(i * PAGE);
	close(fd);
	stop_thread("fastmap-peers", STILL_MS);
	p = peer_start(self, ct_path("f"), true);
	peer_map(p, RW, PAGES * PAGE);
	peer_store(p, 5 * PAGE, (unsigned char)value);
	old += m[5 * PAGE] != value;
	munmap((void *)m, PAGES * PAGE);
	peer_end(p);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	peer_role(argc, argv);
	stopper_start();
	for (int round = 0; round < ROUNDS; round++)
		one(argv[0], round);
	say("C67 old %d", old);
	return 0;
}
