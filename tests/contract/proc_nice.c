/* SPDX-License-Identifier: MIT */
/* X36: a program that gives way to others (nice, SCHED_BATCH) maps a file: what
 * works for it gives way as well. */
#include "ct.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

#define N 64ul
#define NICE 5

int main(int argc, char **argv)
{
	const struct sched_param none = { 0 };
	int fd, others = 0;
	struct dirent *e;
	DIR *d;
	char *p;

	ct_begin(argc, argv);
	say_rc("X36 nice", setpriority(PRIO_PROCESS, 0, NICE));
	say_rc("X36 batch", sched_setscheduler(0, SCHED_BATCH, &none));
	fd = ct_file("file", N * PAGE);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	say("X36 %zu wrong", ct_wrong(p, 0, N));
	usleep(100000); /* threads set themselves up */
	d = opendir("/proc/self/task");
	while (d && (e = readdir(d))) {
		const int tid = atoi(e->d_name);

		if (tid)
			others += getpriority(PRIO_PROCESS, (id_t)tid) !=
					  NICE ||
				  sched_getscheduler(tid) != SCHED_BATCH;
	}
	say("X36 threads that do not give way: %d", others);
	return 0;
}
