/* SPDX-License-Identifier: MIT */
/* F71: RLIMIT_NOFILE 0, as sandboxes set it, when poll(2) refuses: no thread
 * may turn round and round, and mappings go on. */
#include "ct.h"

#include <sys/resource.h>

#define PAGES 400

static double cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	struct rlimit old, none;
	double used;
	char *p;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("a", PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	p[0] = 1;
	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){ 0, old.rlim_max };
	say_rc("F71 setrlimit", setrlimit(RLIMIT_NOFILE, &none));
	for (unsigned long i = 0; i < PAGES; i++)
		p[i * PAGE] = (char)i;
	usleep(300000); /* what has begun may end */
	used = cpu();
	usleep(1000000);
	used = cpu() - used;
	say("F71 asleep for a second: %s",
	    used < 0.15 ? "hardly any CPU time" : "busy");
	say("F71 page 200: %d", p[200 * PAGE]);
	say_rc("F71 msync", msync(p, PAGES * PAGE, MS_SYNC));
	say("F71 in the file: %d", ct_in_file(fd, 200 * PAGE));
	setrlimit(RLIMIT_NOFILE, &old); /* for the statistics */
	return 0;
}
