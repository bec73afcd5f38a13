/* SPDX-License-Identifier: MIT */
/*
 * C63: a file is mapped privately, and by nobody in this process otherwise.
 * Another process opens it, writes to it, cuts it and lets it grow again: pages
 * that we have not stored to follow the file, those that we have stay ours
 * while the file reaches that far.
 */
#include "peers.h"

#define PAGES 64
#define OWN 8    /* pages of our own, one on each side of the cut */
#define FAR 48
#define CUT 32

static const char *self, *path;

static int signal_at(volatile char *m, size_t page, bool stores)
{
	return stores ? ct_store(m + page * PAGE + 9, 1) :
			ct_load(m + page * PAGE + 9) < 0;
}

static void written(struct peer p, volatile char *m)
{
	int old = 0;

	for (size_t i = 0; i < PAGES; i += 4)
		peer_write(p, i * PAGE + 5, 0x77);
	for (size_t i = 0; i < PAGES; i += 4)
		old += i != OWN && i != FAR && m[i * PAGE + 5] != 0x77;
	say("C63 old: %d", old);
	say("C63 own pages: %d %d", m[OWN * PAGE] == 1, m[FAR * PAGE] == 1);
}

static void cut(struct peer p, volatile char *m)
{
	peer_size(p, CUT * PAGE);
	say("C63 beyond, load: %d", signal_at(m, CUT + 1, false));
	say("C63 beyond, store: %d", signal_at(m, CUT, true));
	say("C63 own page beyond: %d", signal_at(m, FAR, false));
	say("C63 before: %d %d", signal_at(m, CUT - 1, true),
	    m[OWN * PAGE] == 1);
	peer_size(p, PAGES * PAGE);
	say("C63 grown: %d %d", ct_zero((char *)m + CUT * PAGE, PAGE),
	    ct_zero((char *)m + FAR * PAGE, PAGE));
}

static void run(bool native, bool first)
{
	int fd = peer_file("f", PAGES * PAGE);
	struct peer p;
	volatile char *m;

	say("C63 other one %s, %s", native ? "native" : "as we are",
	    first ? "cuts" : "writes, cuts");
	m = ct_map(fd, PAGES * PAGE, RW, MAP_PRIVATE, 0);
	close(fd);
	for (size_t i = 0; i < PAGES; i++)
		ct_load(m + i * PAGE);
	m[OWN * PAGE] = m[FAR * PAGE] = 1;
	p = peer_start(self, path, native);
	if (!first)
		written(p, m);
	cut(p, m);
	peer_end(p);
	munmap((void *)m, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	peer_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	for (int i = 0; i < 4; i++)
		run(i & 1, i & 2);
	return 0;
}
