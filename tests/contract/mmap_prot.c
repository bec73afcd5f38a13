/* SPDX-License-Identifier: MIT */
/* M23, M26-M28: every protection, shared and private; MAP_POPULATE. */
#include "ct.h"

static int fd;

static void one(int prot, int flags, const char *kind)
{
	char what[64];
	char *p = mmap(NULL, 2 * PAGE, prot, flags, fd, PAGE);

	snprintf(what, sizeof(what), "M28 %s prot %#x", kind, prot);
	say_map(what, p);
	if (p == MAP_FAILED)
		return;
	say_load(what, p, 0);
	say_store(what, p, PAGE + 3);
	say_load(what, p, PAGE + 4);
	munmap(p, 2 * PAGE);
}

static void populate(void)
{
	unsigned char vec[8];
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED | MAP_POPULATE, 0);

	if (mincore(p, 2 * PAGE, vec))
		ct_die("mincore");
	say("M26 resident: %d %d", vec[0] & 1, vec[1] & 1);
	say("M26 content: %d", ct_matches(p, PAGE, 0));
	munmap(p, 8 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED | MAP_POPULATE, 4 * PAGE);
	say_load("M26 beyond the end", p, 8 * PAGE);
	munmap(p, 16 * PAGE);
	p = ct_map(fd, 2 * PAGE, RW, MAP_SHARED | MAP_POPULATE | MAP_NONBLOCK,
		   0);
	say("M26 nonblock content: %d", ct_matches(p, PAGE, 0));
}

int main(int argc, char **argv)
{
	static const int prots[] = {
		PROT_NONE, PROT_READ, PROT_WRITE, PROT_EXEC, RW,
		PROT_READ | PROT_EXEC, PROT_WRITE | PROT_EXEC, RW | PROT_EXEC,
		RW | 0x40, /* M23: a bit without meaning */
	};

	ct_begin(argc, argv);
	fd = ct_file("f", 8 * PAGE);
	for (size_t i = 0; i < sizeof(prots) / sizeof(*prots); i++) {
		one(prots[i], MAP_SHARED, "shared");
		one(prots[i], MAP_PRIVATE, "private");
	}
	populate();
	return 0;
}
