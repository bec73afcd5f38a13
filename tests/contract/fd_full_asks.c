/* SPDX-License-Identifier: MIT */
/* F70a: every descriptor is taken, and the process that has stored sleeps while
 * its child, or the child of that, looks: the byte is seen, and what is stored
 * there. The same where no more may be opened. */
#include "asleep.h"

#include <sys/resource.h>

#define LIMIT 256

static int childs_child(void *arg)
{
	return ct_child(looks, arg);
}

static const struct way {
	const char *name, *file;
	mode_t mode;
	int (*child)(void *);
	rlim_t limit;
} ways[] = {
	{ "F70a child", "1", 0644, looks, LIMIT },
	{ "F70a child, nobody else may read", "2", 0600, looks, LIMIT },
	{ "F70a child's child", "3", 0644, childs_child, LIMIT },
	{ "F70a child's child, nobody else may read", "4", 0600, childs_child,
	  LIMIT },
	{ "F70a child, none may be opened", "5", 0644, looks, 0 },
};

static const struct way *way;

static void family(void)
{
	struct rlimit lim = { LIMIT, LIMIT };
	char *p;
	int fd;

	begin_waker();
	fd = ct_file(way->file, PAGES * PAGE);
	if (fchmod(fd, way->mode))
		ct_die("fchmod");
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	if (way->limit)
		close(fd);
	ct_store(p, 1);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	lim.rlim_cur = way->limit;
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	say_looks(way->name, p, way->child);
}

int main(int argc, char **argv)
{
	struct rlimit lim = { LIMIT, LIMIT };

	ct_begin(argc, argv);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	for (unsigned k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
		way = &ways[k];
		say_child("F70a", family);
	}
	return 0;
}
