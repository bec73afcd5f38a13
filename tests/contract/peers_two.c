/* SPDX-License-Identifier: MIT */
/* C20: two processes with the library on one file, in every order. What one
 * stores the other sees at its next load, from the moment both have mapped. */
#include "peers.h"

#define N (64 * PAGE)

static const char *self, *path;

static void ping_pong(struct peer p, char *m)
{
	int bad = 0;

	for (int i = 0; i < 100; i++) {
		size_t off = (size_t)(i % 64) * PAGE + 7;

		m[off] = (char)(i + 1);
		bad += peer_load(p, off) != (i + 1);
		peer_store(p, off, (unsigned char)(i + 101));
		bad += (unsigned char)m[off] != i + 101;
	}
	say("C20 missed: %d", bad);
}

/* We have dirty pages when the other comes. */
static void writer_first(bool other_writes)
{
	int fd = peer_file("f", N);
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);
	struct peer p;
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		m[i] = 0x33;
	p = peer_start(self, path, false);
	say("C20 second maps: %d",
	    peer_map(p, other_writes ? RW : PROT_READ, N));
	for (size_t i = 0; i < N; i += PAGE)
		bad += peer_load(p, i) != 0x33;
	say("C20 stores before it came, missed: %d", bad);
	if (other_writes)
		ping_pong(p, m);
	m[5] = 0x44;
	say("C20 later store: %02x", peer_load(p, 5));
	peer_end(p);
	say("C20 alone again: %02x", m[5]);
	munmap(m, N);
	close(fd);
}

static void reader_first(void)
{
	int fd = peer_file("f", N), bad = 0;
	int ro = open(path, O_RDONLY);
	char *m = ct_map(ro, N, PROT_READ, MAP_SHARED, 0);
	struct peer p;

	say("C20 first reads: %d", ct_matches(m, N, 0));
	p = peer_start(self, path, false);
	say("C20 second maps: %d", peer_map(p, RW, N));
	for (size_t i = 0; i < N; i += PAGE) {
		peer_store(p, i, 0x55);
		bad += m[i] != 0x55;
	}
	say("C20 first missed: %d", bad);
	peer_end(p);
	munmap(m, N);
	close(ro);
	close(fd);
}

/* Each holds one file and asks for the other's at the same time. */
static void crossing(void)
{
	int a = peer_file("a", N), b = peer_file("b", N);
	char *ma = ct_map(a, N, RW, MAP_SHARED, 0), *mb;
	char *pa = strdup(ct_path("a")), *pb = strdup(ct_path("b"));
	struct peer p = peer_start(self, pb, false), q;

	ma[0] = 1;
	close(b); /* an open descriptor would make p use the kernel's mapping */
	peer_map(p, RW, N);
	peer_store(p, 0, 2);
	q = peer_start(self, pa, false);
	b = open(pb, O_RDWR);
	mb = ct_map(b, N, RW, MAP_SHARED, 0);
	say("C20 crossing: %d %d", mb[0],
	    (peer_map(q, RW, N), peer_load(q, 0)));
	ma[1] = 3;
	peer_store(p, 1, 4);
	say("C20 crossing, later: %d %d", peer_load(q, 1), mb[1]);
	peer_end(p);
	peer_end(q);
	munmap(ma, N);
	munmap(mb, N);
}

/* The first is killed with dirty pages; the second comes at once. */
static void after_a_kill(void)
{
	int fd = peer_file("f", N), bad = 0, status;
	struct peer p = peer_start(self, path, false);
	struct order die = { .op = 'k' };
	char *m;

	close(fd);
	peer_map(p, RW, N);
	for (size_t i = 0; i < N; i += PAGE)
		peer_store(p, i, 0x66);
	if (send(p.sock, &die, sizeof(die), 0) < 0)
		ct_die("send");
	waitpid(p.pid, &status, 0);
	close(p.sock);
	fd = open(path, O_RDWR);
	m = ct_map(fd, N, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < N; i += PAGE)
		bad += m[i] != 0x66;
	say("C20 lost with the killed one: %d", bad);
	munmap(m, N);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	peer_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	writer_first(true);
	writer_first(false);
	reader_first();
	crossing();
	after_a_kill();
	return 0;
}
