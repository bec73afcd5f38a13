/* SPDX-License-Identifier: MIT */
/* AP06: fastmap_set changes what `fastmap set` does, by any number of threads
 * while others use the memory; what is refused changes nothing. */
#include "api.h"

#include <pthread.h>

#define PAGES 1024
#define THREADS 8
#define ROUNDS 20
#define CACHE (48ul << 20)

static char *p;
static int bad;

static bool by_engine(void)
{
	char text[80];

	return fastmap_why(p, text, sizeof(text)) > 0 &&
	       !strcmp(text, "the engine");
}

static uint64_t limit(void)
{
	struct fastmap_stat s = { 0 };

	fastmap_stat(&s, sizeof(s));
	return s.cache_limit;
}

/* One sets what its number says, and all look at the bytes. */
static void *one(void *arg)
{
	static const char *const to[][2] = {
		{ "cache", "8M" },	 { "map-ahead", "256K" },
		{ "wb-interval", "50" }, { "cache", "16M" },
		{ "map-ahead", "1M" },	 { "wb-high", "40" },
		{ "cache", "30%" },	 { "wb-low", "10" },
	};
	const uintptr_t k = (uintptr_t)arg;
	size_t i = k * 37;

	for (int n = 0; n < ROUNDS; n++) {
		fastmap_set(to[k][0], to[k][1]);
		for (int j = 0; j < 40; j++, i = (i + 7) % PAGES)
			if (ct_load(p + i * PAGE + 9) !=
			    ct_byte(i * PAGE + 9))
				__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
		p[i * PAGE + 8] = (char)n;
	}
	return NULL;
}

static int child(void *arg)
{
	return fastmap_available() && fastmap_set("map-ahead", arg);
}

static void at_once(void)
{
	pthread_t t[THREADS];

	for (uintptr_t k = 0; k < THREADS; k++)
		pthread_create(&t[k], NULL, one, (void *)k);
	say("AP06 child: %d", ct_child(child, "2M"));
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	say("AP06 wrong: %d", bad);
}

static void refused(void)
{
	const uint64_t was = limit();

	say("AP06 no key: %s", api_fails(fastmap_set("cash", "1M"), ENOENT));
	say("AP06 a path's: %s",
	    api_fails(fastmap_set("min-size", "1M"), EPERM));
	say("AP06 bad: %s", api_fails(fastmap_set("cache", "much"), EINVAL));
	say("AP06 range: %s", api_fails(fastmap_set("wb-high", "200"), ERANGE));
	say("AP06 marks: %s", api_fails(fastmap_set("wb-low", "89"), EINVAL));
	say("AP06 as it was: %d", limit() == was);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	say("AP06 byte: %d", ct_load(p + 9));
	at_once();
	strcpy(p + 100 * PAGE, "cache");
	strcpy(p + 200 * PAGE, "48M");
	say("AP06 from a mapping: %s",
	    api_rc(fastmap_set(p + 100 * PAGE, p + 200 * PAGE)));
	say("AP06 as large: %d", !by_engine() ||
	    (limit() <= CACHE && limit() > CACHE / 2));
	refused();
	munmap(p, PAGES * PAGE);
	return 0;
}
