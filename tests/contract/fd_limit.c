/* SPDX-License-Identifier: MIT */
/* F7: no descriptor is left, before and while a file is mapped. Descriptors
 * of the library's own count; how many they are is not compared. */
#include "ct.h"

#include <sys/resource.h>

#define LIMIT 256
#define PAGES 64

static int opened[LIMIT], n;

static void take_all(const char *when)
{
	while (n < LIMIT && (opened[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	say("F7 %s: all taken: %s, most of them the program's: %d", when,
	    ct_errno(opened[n] < 0), n > LIMIT - 64);
}

static void give_back(void)
{
	while (n > 0)
		close(opened[--n]);
}

static void use(const char *when, char *p, int fd, int value)
{
	char *q = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < PAGES; i++)
		p[i * (int)PAGE + 1] = (char)(i + value);
	say("F7 %s: a second mapping agrees: %d", when,
	    q[9 * PAGE + 1] == 9 + value);
	say("F7 %s: msync: %s", when,
	    ct_errno(msync(p, PAGES * PAGE, MS_SYNC) == -1));
	say("F7 %s: read: %d", when, ct_in_file(fd, 7 * PAGE + 1));
	say("F7 %s: untouched bytes: %d", when,
	    ct_matches(p + 2, PAGE - 2, 2));
	munmap(q, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	struct rlimit lim = { LIMIT, LIMIT };
	int a, b;
	char *p;

	ct_begin(argc, argv);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	a = ct_file("a", PAGES * PAGE);
	b = ct_file("b", PAGES * PAGE);
	p = ct_map(a, PAGES * PAGE, RW, MAP_SHARED, 0);
	p[0] = p[0];
	take_all("mapped before");
	use("mapped before", p, a, 1);
	p = ct_map(b, PAGES * PAGE, RW, MAP_SHARED, 0);
	use("mapped with none left", p, b, 2);
	give_back();
	use("given back", p, b, 3);
	return 0;
}
