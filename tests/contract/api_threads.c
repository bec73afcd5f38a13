/* SPDX-License-Identifier: MIT */
/* AP04: all calls of fastmap.h, by many threads, on the same file; some with a
 * mapping of their own, and children of fork. Every byte stays right. */
#include "api.h"

#include <pthread.h>

#define PAGES 1024
#define THREADS 8
#define ROUNDS 60
#define ROWS 40

static char *both;
static int fd, bad;

static unsigned draw(unsigned *seed)
{
	return *seed = *seed * 1103515245 + 12345, *seed >> 8;
}

static void rows_of(char *p, unsigned *seed, struct fastmap_range *r)
{
	for (int i = 0; i < ROWS; i++)
		r[i] = (struct fastmap_range){
			p + (size_t)(draw(seed) % PAGES) * PAGE,
			(draw(seed) % 3 + 1) * PAGE / 2 };
}

static bool is_right(const char *p, const struct fastmap_range *r)
{
	return ct_matches(r->addr, PAGE,
			  (uint64_t)((char *)r->addr - p));
}

static void one_round(char *p, unsigned *seed)
{
	const struct fastmap_range all = { p, PAGES * PAGE };
	struct fastmap_range r[ROWS];
	struct fastmap_stat s;
	fastmap_ticket t;
	char text[80];

	rows_of(p, seed, r);
	t = fastmap_prefetch(r, ROWS, 0);
	if (draw(seed) % 2 && t >= 0 && fastmap_wait(t, CT_PATIENCE))
		__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < ROWS; i++)
		if (!is_right(p, &r[i]))
			__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
	fastmap_stat(&s, sizeof(s));
	fastmap_why(p, text, sizeof(text));
	if (draw(seed) % 4 == 0)
		fastmap_release(r, ROWS);
	if (draw(seed) % 8 == 0)
		fastmap_advise(&all, 1, (int)(draw(seed) % 3),
			       draw(seed) % 3 * 65536);
}

static void *reader(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	char *p = both;

	for (int k = 0; k < ROUNDS; k++) {
		if (seed % 3 == 0)
			p = api_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED);
		one_round(p, &seed);
		if (p != both)
			fastmap_unmap(p, PAGES * PAGE);
		p = both;
	}
	return NULL;
}

static int child(void *arg)
{
	unsigned seed = 7;

	for (int k = 0; k < 5; k++)
		one_round(both, &seed);
	return bad != 0;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	both = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, reader, (void *)(i + 1)))
			ct_die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	say("AP04 wrong: %d", bad);
	say("AP04 child: %d", ct_child(child, NULL));
	say("AP04 wrong afterwards: %d", bad);
	return 0;
}
