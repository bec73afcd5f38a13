/* SPDX-License-Identifier: MIT */
/* M85: a file that is larger than the cache, and has been read, is written out
 * of its mapping, then stored to page by page. It is read in large pieces, not
 * once for each page.
 */
/* env: FASTMAP_CACHE=16M */
/* env: FASTMAP_LAZY=1G */
#include "api.h"

#define N (64ul << 20)
#define ONCE (1ul << 20)

/* Requests to the device: none natively, where nobody counts them. */
static uint64_t reads(void)
{
	struct fastmap_stat s;

	return fastmap_stat(&s, sizeof(s)) ? 0 : s.reads;
}

/* Half of all pages is what is read in pieces of two. */
static void done(const char *what, uint64_t before)
{
	const uint64_t n = reads() - before;

	if (n < N / PAGE / 2)
		say("M85 %s: not page by page", what);
	else
		say("M85 %s: %lu reads of %lu pages", what, (unsigned long)n,
		    N / PAGE);
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
	uint64_t was;

	ct_begin(argc, argv);
	fd = ct_file("a", N);
	out = ct_file("b", 0);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	usleep(300000);
	read_all(p);
	was = reads();
	for (size_t i = 0; i < N; i += ONCE)
		ct_pwrite(out, p + i, ONCE, (off_t)i);
	done("write(2) out of the mapping", was);
	read_all(p);
	was = reads();
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
