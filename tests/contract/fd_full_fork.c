/* SPDX-License-Identifier: MIT */
/* F70: every descriptor is taken when the kernel is to get a mapping: a child
 * of fork looks at a shared and at a private one, and stores; mlock. */
#include "ct.h"

#include <sys/resource.h>

#define LIMIT 256
#define PAGES 1500 /* more than most caches of the tests */

static void take_all(void)
{
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	say("F70 all taken: %s", ct_errno(true));
}

static unsigned sum(const char *p)
{
	unsigned s = 0;

	for (unsigned long i = 0; i < PAGES * PAGE; i += 256)
		s = s * 31 + (unsigned char)p[i];
	return s;
}

struct seen {
	unsigned want;
	char *p;
};

static int looks(void *arg)
{
	const struct seen *s = arg;

	alarm(9); /* nobody is waited for in vain */
	if (sum(s->p) != s->want)
		return 1;
	s->p[PAGE + 3]++;
	return 0;
}

/* Who hangs is ended, and that is seen. */
static void in_child(const char *what, char *p)
{
	struct seen s = { sum(p), p };
	char before = p[PAGE + 3];

	say("F70 %s: child: %d", what, ct_child(looks, &s));
	say("F70 %s: its store is %s", what,
	    p[PAGE + 3] == before ? "not seen" : "seen");
}

int main(int argc, char **argv)
{
	struct rlimit lim = { LIMIT, LIMIT };
	char *shared, *own;
	int a, b;

	ct_begin(argc, argv);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	a = ct_file("a", PAGES * PAGE);
	b = ct_file("b", PAGES * PAGE);
	shared = ct_map(a, PAGES * PAGE, RW, MAP_SHARED, 0);
	own = ct_map(b, PAGES * PAGE, RW, MAP_PRIVATE, 0);
	for (unsigned long i = 0; i < PAGES; i += 3)
		shared[i * PAGE] = own[i * PAGE] = (char)i;
	take_all();
	in_child("private", own);
	in_child("shared", shared);
	shared[9] = 9;
	say("F70 file: %d", ct_in_file(a, PAGE * 3));
	say_rc("F70 mlock", mlock(own, PAGE));
	say("F70 private after mlock: %d", own[6 * PAGE]);
	return 0;
}
