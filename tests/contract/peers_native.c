/* SPDX-License-Identifier: MIT */
/*
 * C21: a process without the library on our file. It is noticed when it opens
 * the file; how soon is in docs/sharing.md, so the checks here wait for it.
 */
#include "peers.h"

#define N (64 * PAGE)

static const char *self, *path;

struct spot {
	struct peer p;
	char *m;
	size_t off;
};

static int theirs(void *arg)
{
	struct spot *s = arg;

	return peer_load(s->p, s->off);
}

static int theirs_by_read(void *arg)
{
	struct spot *s = arg;

	return peer_read(s->p, s->off);
}

static int ours(void *arg)
{
	struct spot *s = arg;

	return ((volatile unsigned char *)s->m)[s->off];
}

/* Stores that one of the two does not see. */
static int both_ways(struct spot *s)
{
	int bad = 0;

	for (s->off = 1; s->off < N; s->off += PAGE) {
		s->m[s->off] = 0x34;
		bad += theirs(s) != 0x34;
		peer_store(s->p, s->off, 0x35);
		bad += ours(s) != 0x35;
	}
	return bad;
}

static void lasting_mapper(void)
{
	int fd = peer_file("f", N);
	struct spot s = { .m = ct_map(fd, N, RW, MAP_SHARED, 0) };
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		s.m[i] = 0x33;
	s.p = peer_start(self, path, true);
	peer_map(s.p, RW, N);
	for (s.off = 0; s.off < N; s.off += PAGE)
		bad += !soon(theirs, &s, 0x33);
	say("C21 native mapper misses: %d", bad);
	/* However long it takes on a busy machine. */
	for (int tries = 0; tries < 20; tries++) {
		usleep(500000);
		bad = both_ways(&s);
		if (!bad)
			break;
	}
	say("C21 once noticed, both miss: %d", bad);
	peer_end(s.p);
	munmap(s.m, N);
	close(fd);
}

/* The native process was first: nothing to notice, right from the start. */
static void native_first(void)
{
	int fd = peer_file("f", N), bad = 0;
	struct spot s = { .p = peer_start(self, path, true) };

	peer_map(s.p, RW, N);
	peer_store(s.p, 9, 0x36);
	s.m = ct_map(fd, N, RW, MAP_SHARED, 0);
	for (s.off = 0; s.off < N; s.off += PAGE) {
		s.m[s.off] = 0x37;
		bad += theirs(&s) != 0x37;
		peer_store(s.p, s.off, 0x38);
		bad += ours(&s) != 0x38;
	}
	say("C21 native first: %02x, misses %d", s.m[9], bad);
	peer_end(s.p);
	munmap(s.m, N);
	close(fd);
}

/* write(2) of a native process into a file that we only read. */
static void native_writer(void)
{
	int fd = peer_file("f", N);
	int ro = open(path, O_RDONLY);
	struct spot s = { .m = ct_map(ro, N, PROT_READ, MAP_SHARED, 0) };

	close(fd);
	say("C21 reader: %d", ct_matches(s.m, N, 0));
	s.p = peer_start(self, path, true);
	for (s.off = 3; s.off < N; s.off += 9 * PAGE) {
		peer_write(s.p, s.off, 0x39);
		if (!soon(ours, &s, 0x39))
			say("C21 native write not seen at %zu", s.off);
	}
	peer_end(s.p);
	munmap(s.m, N);
	close(ro);
}

/* read(2) of a native process sees our stores. */
static void native_reader(void)
{
	int fd = peer_file("f", N), bad = 0;
	struct spot s = { .m = ct_map(fd, N, RW, MAP_SHARED, 0) };

	s.m[11] = 0x3a;
	s.p = peer_start(self, path, true);
	s.off = 11;
	say("C21 store before the open: %d", soon(theirs_by_read, &s, 0x3a));
	for (s.off = 12; s.off < N; s.off += PAGE) {
		s.m[s.off] = 0x3b;
		bad += !soon(theirs_by_read, &s, 0x3b);
	}
	say("C21 native read misses: %d", bad);
	peer_end(s.p);
	munmap(s.m, N);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	peer_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	lasting_mapper();
	native_first();
	native_writer();
	native_reader();
	return 0;
}
