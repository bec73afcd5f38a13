/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_SOCKET={own}/s */
/* env: FASTMAP_POLICY={own}/policy */
/*
 * AP09: fastmap_set by several threads while the policy file changes and is
 * read again, over and over, and others read, store and pin: every answer is
 * one of those promised, what was set last stays whatever the file says, and
 * every byte is right.
 */
#include "api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../stress/ask.h"

#define PAGES 1024ul
#define SETTERS 3
#define READERS 2

static char *p;
static atomic_bool stop;
static atomic_int bad, reloads;

/* In one step, as an editor saves it. */
static void save(int n)
{
	const char *at = getenv("FASTMAP_POLICY");
	char new[4096];
	FILE *f;

	if (!at)
		return;
	snprintf(new, sizeof(new), "%s.new", at);
	f = fopen(new, "we");
	if (!f)
		ct_die("policy");
	fprintf(f, "cache = %dM\nmap-ahead = %dK\nwb-interval = %d\n"
		"[path %s/*]\npriority = %s\npin = %dK\n",
		8 + n % 9, 64 << n % 5, 50 + n % 7, ct_dir,
		n % 2 ? "low" : "high", n % 3 * 64);
	if (fclose(f) || rename(new, at))
		ct_die("policy");
}

static bool promised(int rc)
{
	return !rc || (!fastmap_available() && errno == ENOSYS);
}

/* Each its own key. */
static void *setter(void *arg)
{
	static const char *const to[SETTERS][3] = {
		{ "cache", "12M", "20M" },
		{ "map-ahead", "256K", "1M" },
		{ "wb-interval", "60", "90" },
	};
	const char *const *k = to[(uintptr_t)arg];

	for (int n = 0; !stop; n++) {
		if (!promised(fastmap_set(k[0], k[1 + n % 2])))
			atomic_fetch_add(&bad, 1);
		if (!fastmap_set(k[0], "much") ||
		    errno != (fastmap_available() ? EINVAL : ENOSYS))
			atomic_fetch_add(&bad, 1);
	}
	return NULL;
}

static void *reader(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg + 1;

	while (!stop) {
		const size_t i = (size_t)rand_r(&seed) % PAGES;
		const struct fastmap_range r = { p + i * PAGE, 3 * PAGE };

		if (ct_load(p + i * PAGE + 7) != ct_byte(i * PAGE + 7))
			atomic_fetch_add(&bad, 1);
		p[i * PAGE + 8] = (char)seed;
		seed % 2 ? fastmap_pin(&r, 1) : fastmap_unpin(&r, 1);
	}
	return NULL;
}

static void *reloader(void *arg)
{
	for (int n = 0; !stop; n++) {
		save(n);
		atomic_fetch_add(&reloads, ask("reload\n"));
	}
	return NULL;
}

static void at_once(void)
{
	/* Natively there is nothing that it could meet. */
	const time_t end = time(NULL) +
			   (fastmap_available() ? ct_rounds(2, 20) : 0);
	pthread_t t[SETTERS + READERS + 1];
	int n = 0;

	for (uintptr_t k = 0; k < SETTERS; k++)
		pthread_create(&t[n++], NULL, setter, (void *)k);
	for (uintptr_t k = 0; k < READERS; k++)
		pthread_create(&t[n++], NULL, reader, (void *)k);
	pthread_create(&t[n++], NULL, reloader, NULL);
	while (time(NULL) < end)
		usleep(10000);
	stop = true;
	while (n)
		pthread_join(t[--n], NULL);
	say("AP09 wrong: %d", bad);
	say("AP09 it was read again: %d", !fastmap_available() || reloads > 0);
}

static uint64_t limit(void)
{
	struct fastmap_stat s = { 0 };

	fastmap_stat(&s, sizeof(s));
	return s.cache_limit;
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	save(0);
	fd = ct_file("f", PAGES * PAGE);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	at_once();
	say("AP09 set: %s", api_rc(fastmap_set("cache", "6M")));
	save(8);
	say("AP09 again: %d", !fastmap_available() || ask("reload\n"));
	say("AP09 it stays: %d", limit() <= 6ul << 20);
	say("AP09 bytes: %d", ct_load(p + 500 * PAGE + 7) ==
	    ct_byte(500 * PAGE + 7));
	munmap(p, PAGES * PAGE);
	return 0;
}
