/* SPDX-License-Identifier: MIT */
/* M85: a file that is larger than the cache, and has been read, is written out
 * of its mapping, then stored to page by page. It is read in large pieces, not
 * once for each page, which takes ten times as much of a CPU as the first look.
 */
/* env: FASTMAP_CACHE=16M */
/* env: FASTMAP_LAZY=1G */
#include "ct.h"

#include <sys/resource.h>

#define N (64ul << 20)
#define ONCE (1ul << 20)

static long first; /* ms */

static long cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static void done(const char *what, long before)
{
	long ms = cpu_ms() - before;

	if (ms < 4 * first + 200)
		say("M85 %s: not page by page", what);
	else
		say("M85 %s: %ld ms, the first look at all of it %ld", what, ms,
		    first);
}

static void read_all(const char *p)
{
	unsigned sum = 0;

	for (size_t i = 0; i < N; i += PAGE)
		sum += *(const volatile unsigned char *)(p + i);
	(void)sum;
}

int main(int argc, char **argv)
{
	char *p, *q;
	int fd, out;
	long was;

	ct_begin(argc, argv);
	fd = ct_file("a", N);
	out = ct_file("b", 0);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	usleep(300000);
	was = cpu_ms();
	read_all(p);
	first = cpu_ms() - was;
	was = cpu_ms();
	for (size_t i = 0; i < N; i += ONCE)
		ct_pwrite(out, p + i, ONCE, (off_t)i);
	done("write(2) out of the mapping", was);
	read_all(p);
	was = cpu_ms();
	for (size_t i = 0; i < N; i += PAGE)
		p[i] = (char)(p[i] ^ 1);
	done("stores", was);
	q = ct_map(out, N, PROT_READ, MAP_SHARED, 0);
	say("M85 written: %d", ct_matches(q, N, 0));
	for (size_t i = 0; i < N; i += PAGE)
		p[i] = (char)(p[i] ^ 1);
	say("M85 stored, and back: %d", ct_matches(p, N, 0));
	return 0;
}
