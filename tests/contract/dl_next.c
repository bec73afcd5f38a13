/* SPDX-License-Identifier: MIT */
/* X26: functions that a library finds by RTLD_NEXT, in its constructor or
 * later, linked to the program or loaded by it. */
/* all ours */
#include "ct.h"
#include "lib/next.h"

#include <dlfcn.h>

#define N 64ul

/* Each store is in the file, whoever unmaps. */
static void use(const char *who, const struct next *n)
{
	int fd = ct_file(who, N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0), c = 0, *q;
	size_t bad = 0;

	for (size_t i = 0; i < N; i++)
		p[i * PAGE] = 7;
	say_rc("X26 msync", n->sync(p, PAGE, MS_SYNC));
	q = n->remap(p, N * PAGE, N / 2 * PAGE, 0);
	say("X26 %s mremap: %d", who, q == p);
	say("X26 pwrite from it: %zd", n->put(fd, p, 1, 3 * PAGE + 1));
	say("X26 pread into it: %zd", n->get(fd, p + PAGE + 1, 1, 3 * PAGE));
	say("X26 they came: %d %d", p[3 * PAGE + 1], p[PAGE + 1]);
	say_rc("X26 munmap", n->unmap(p, N / 2 * PAGE));
	q = mmap(p, N * PAGE, RW,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	say("X26 its place is free: %d", q == p);
	for (size_t i = 0; i < N; i++)
		bad += pread(fd, &c, 1, (off_t)(i * PAGE)) != 1 || c != 7;
	say("X26 lost: %zu", bad);
	munmap(q, N * PAGE);
	q = n->map64(NULL, N * PAGE, RW, MAP_PRIVATE, fd, 0);
	q[2 * PAGE] = 1;
	say_rc("X26 madvise", n->advise(q, N * PAGE, MADV_DONTNEED));
	say("X26 the file's again: %d", q[2 * PAGE]);
	q = n->map(q, N * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	q[5 * PAGE] = 9;
	say_rc("X26 munmap", munmap(q, N * PAGE));
	say("X26 it is there: %d", ct_in_file(fd, 5 * PAGE));
	close(fd);
}

static void loaded(void)
{
	void *lib = dlopen("libnextloaded.so", RTLD_NOW);
	struct next (*get)(void), n;

	if (!lib)
		ct_die(dlerror());
	get = (struct next (*)(void))dlsym(lib, "next_early");
	n = get();
	use("loaded, constructor", &n);
	get = (struct next (*)(void))dlsym(lib, "next_late");
	n = get();
	use("loaded", &n);
}

int main(int argc, char **argv)
{
	struct next n;

	ct_begin(argc, argv);
	n = next_early();
	use("constructor", &n);
	n = next_late();
	use("later", &n);
	loaded();
	say("X26 unknown: %d", next_unknown());
	say("X26 and why: %d", dlerror() != NULL);
	return 0;
}
