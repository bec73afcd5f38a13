/* SPDX-License-Identifier: MIT */
/* M91: one system call stores to the same file page through two mappings of
 * it. */
#include "ct.h"

#include <sys/uio.h>

#define PAGES 16ul

int main(int argc, char **argv)
{
	struct iovec v[2], l, r;
	char *a, *b;
	int fd, from;

	ct_begin(argc, argv);
	alarm(20);
	fd = ct_file("f", PAGES * PAGE);
	from = ct_file("from", PAGES * PAGE);
	a = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	b = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	v[0] = (struct iovec){ a, 100 };
	v[1] = (struct iovec){ b + 200, 100 };
	say("M91 readv: %zd", readv(from, v, 2));
	say("M91 got: %d %d %d", ct_matches(a, 100, 0),
	    !memcmp(b + 200, b, 0) && !memcmp(a + 200, b + 200, 100),
	    ct_matches(a + 100, 100, 100));
	v[0] = (struct iovec){ b + 3 * PAGE, 2 * PAGE };
	v[1] = (struct iovec){ a + 4 * PAGE + 7, 3 * PAGE };
	say("M91 preadv: %zd", preadv(from, v, 2, 5 * PAGE));
	say("M91 got: %d %d", ct_matches(a + 3 * PAGE, PAGE + 7, 5 * PAGE),
	    ct_matches(b + 4 * PAGE + 7, 3 * PAGE, 7 * PAGE));
	l = (struct iovec){ a + 9 * PAGE, 3000 };
	r = (struct iovec){ b + 9 * PAGE + 3000, 3000 };
	say("M91 process_vm_readv: %zd",
	    process_vm_readv(getpid(), &l, 1, &r, 1, 0));
	say("M91 got: %d", ct_matches(b + 9 * PAGE, 3000, 9 * PAGE + 3000));
	l = (struct iovec){ a + 11 * PAGE, 2000 };
	r = (struct iovec){ b + 11 * PAGE + 2000, 2000 };
	say("M91 process_vm_writev: %zd",
	    process_vm_writev(getpid(), &l, 1, &r, 1, 0));
	say("M91 got: %d", ct_matches(b + 11 * PAGE + 2000, 2000, 11 * PAGE));
	say_rc("M91 msync", msync(a, PAGES * PAGE, MS_SYNC));
	return 0;
}
