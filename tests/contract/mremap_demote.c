/* SPDX-License-Identifier: MIT */
/* V12: a shared mapping grows and shrinks with its file, before and after the
 * kernel takes the file over (fork, mlock). It stays one mapping: mremap of all
 * of it works. */
#include "ct.h"

#include <sys/wait.h>

#define STEP (37 * PAGE + 100)

static int fd;
static char *map;
static size_t size;

static void check(const char *how, size_t at)
{
	for (size_t i = 0; i < size; i += PAGE)
		if (map[i] != (char)(i / PAGE | 1))
			say("V12 %s %zu: page %zu differs", how, at, i / PAGE);
}

static void resize(const char *how, size_t at, size_t to)
{
	char *m;

	if (ftruncate(fd, (off_t)to))
		ct_die("ftruncate");
	m = mremap(map, size, to, MREMAP_MAYMOVE);
	if (m == MAP_FAILED) {
		say("V12 %s %zu: mremap %s", how, at, ct_errno(true));
		exit(1);
	}
	map = m;
	for (size_t i = (size + PAGE - 1) / PAGE * PAGE; i < to; i += PAGE)
		map[i] = (char)(i / PAGE | 1);
	size = to;
}

static void child(void)
{
	map[PAGE + 1]++;
}

static void let_fork(void)
{
	say_child("fork", child);
}

static void run(const char *how)
{
	char name[16];

	snprintf(name, sizeof(name), "f-%s", how);
	size = 100 * PAGE;
	fd = ct_file(name, size);
	map = ct_map(fd, size, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < size; i += PAGE)
		map[i] = (char)(i / PAGE | 1);
	for (size_t at = 0; how[at]; at++) {
		switch (how[at]) {
		case 'g':
			resize(how, at, size + STEP);
			break;
		case 's':
			resize(how, at, size - STEP);
			break;
		case 'f':
			let_fork();
			break;
		case 'l':
			say_rc("V12 mlock", mlock(map, PAGE));
			munlock(map, PAGE);
			break;
		case 'a':
			madvise(map, size / 2, MADV_RANDOM);
			madvise(map, size / 2, MADV_NORMAL);
			break;
		case 'p':
			mprotect(map, 8 * PAGE, PROT_READ);
			mprotect(map, 8 * PAGE, RW);
			break;
		}
		check(how, at);
	}
	say("V12 %s: %zu, %d", how, size, map[PAGE + 1]);
	munmap(map, size);
	close(fd);
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {
		"gfg",	"sgfg",	  "ggfgg", "agfg", "glg",      "gglsg",
		"pgfg", "pgglgg", "fg",	   "gfs",  "ggggggfg",
	};

	ct_begin(argc, argv);
	for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
		run(ways[k]);
	return 0;
}
