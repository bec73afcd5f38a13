/* SPDX-License-Identifier: MIT */
/* X01: what /proc/self/maps says about a mapping. */
/* differs: X01 the range is anonymous memory to the kernel, see
 * docs/contract.md */
#include "ct.h"

static void say_line(const char *what, char *p)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096], perms[8], path[3000];
	unsigned long from, to;
	bool found = false;

	if (!f)
		ct_die("fopen");
	while (fgets(line, sizeof(line), f)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %2999s", &from, &to,
			   perms, path) < 3)
			continue;
		if ((uintptr_t)p < from || (uintptr_t)p >= to)
			continue;
		found = true;
		say("X01 %s: %s %s", what, perms,
		    strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	}
	fclose(f);
	say("X02 %s is listed: %d", what, found);
}

int main(int argc, char **argv)
{
	int fd;
	char *p, *q;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	q = ct_map(fd, 16 * PAGE, PROT_READ, MAP_PRIVATE, 0);
	p[0] = 1;
	say_line("shared", p);
	say_line("private", q);
	return 0;
}
