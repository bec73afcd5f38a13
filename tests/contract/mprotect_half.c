/* SPDX-License-Identifier: MIT */
/* M82: mprotect over several mappings of which a later one refuses, or that
 * have a hole between them: what comes before has changed, what comes after has
 * not. */
#include "ct.h"

#define PART (4 * PAGE)

static int fd;

enum middle { HOLE, READ_ONLY, KERNELS };

static const char *const name[] = { "a hole",
				    "a mapping that is not to be written",
				    "one of the kernel's" };

static void put_middle(char *at, enum middle middle)
{
	int flags = MAP_SHARED | MAP_FIXED;
	int ro = open(ct_path("f"), O_RDONLY);

	if (middle == HOLE)
		munmap(at, PART);
	else if (middle == READ_ONLY)
		mmap(at, PART, PROT_READ, flags, ro, PART);
	else
		mmap(at, PART, PROT_READ, flags, open(ct_path("own"), O_RDONLY),
		     0);
	close(ro);
}

/* Parts of `prot`, one of them in two pieces, around what refuses. */
static char *parts(enum middle middle, int prot)
{
	char *p = ct_map(fd, 3 * PART, prot, MAP_SHARED, 0);

	put_middle(p + PART, middle);
	madvise(p, 2 * PAGE, MADV_RANDOM);
	if (prot & PROT_WRITE) {
		p[0]++;
		p[2 * PAGE]++;
		p[2 * PART]++;
	}
	return p;
}

static void say_parts(const char *what, char *p)
{
	char line[208];

	snprintf(line, sizeof(line), "M82 %s", what);
	say_load(line, p, 0);
	say_store(line, p, 2 * PAGE);
	say_store(line, p, PART);
	say_load(line, p, 2 * PART);
	say_store(line, p, 2 * PART + PAGE);
}

static void half(enum middle middle, int prot, int to)
{
	char *p = parts(middle, prot);
	char line[200];

	snprintf(line, sizeof(line), "%s, from %d to %d", name[middle], prot,
		 to);
	say_rc(line, mprotect(p, 3 * PART, to));
	say_parts(line, p);
	/* The same again as the kernel's. */
	mlock(p, PAGE);
	munlock(p, PAGE);
	snprintf(line, sizeof(line), "%s, from %d to %d, locked", name[middle],
		 prot, to);
	say_parts(line, p);
	munmap(p, 3 * PART);
}

/* The file stays the kernel's once it has been locked: another one each
 * time. */
static void fresh(void)
{
	close(fd);
	unlink(ct_path("f"));
	fd = ct_file("f", 3 * PART);
}

int main(int argc, char **argv)
{
	static const int change[][2] = {
		{ RW, PROT_NONE }, { RW, PROT_READ }, { PROT_READ, RW },
		{ PROT_READ, PROT_NONE }, { PROT_NONE, RW },
	};

	ct_begin(argc, argv);
	fd = ct_file("f", 3 * PART);
	close(ct_file("own", PART));
	/* This one is the kernel's from the beginning. */
	ct_map(open(ct_path("own"), O_RDONLY), PART, PROT_READ | PROT_EXEC,
	       MAP_SHARED, 0);
	for (int middle = HOLE; middle <= KERNELS; middle++)
		for (size_t i = 0; i < sizeof(change) / sizeof(change[0]);
		     i++) {
			fresh();
			half((enum middle)middle, change[i][0], change[i][1]);
		}
	return 0;
}
