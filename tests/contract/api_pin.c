/* SPDX-License-Identifier: MIT */
/* AP05: pages that are pinned are there after as much else was read as the
 * cache has room for; unpinned they leave as others do; every byte is right. */
#include "api.h"

#define PAGES 4096
#define FIRST 16
#define PINNED 64

static char *p;
static unsigned char vec[PINNED];

static int there(void)
{
	int n = 0;

	if (fastmap_resident(p + FIRST * PAGE, PINNED * PAGE, vec))
		ct_die("fastmap_resident");
	for (int i = 0; i < PINNED; i++)
		n += vec[i] & 1;
	return n;
}

/* A cache that has no room for them keeps nothing. */
static bool is_tiny(void)
{
	struct fastmap_stat s;

	return !fastmap_stat(&s, sizeof(s)) &&
	       s.cache_limit < 8 * PINNED * PAGE;
}

static bool touch(size_t from, size_t to)
{
	bool right = true;

	for (size_t i = from; i < to; i++)
		right &= ct_load(p + i * PAGE + 7) ==
			 ct_byte(i * PAGE + 7);
	return right;
}

int main(int argc, char **argv)
{
	const struct fastmap_range nowhere = { argv, 1 };
	struct fastmap_range r;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	fdatasync(fd); /* what the page cache has is there, too */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	r = (struct fastmap_range){ p + FIRST * PAGE, PINNED * PAGE };
	say("AP05 pin: %s", api_rc(fastmap_pin(&r, 1)));
	say("AP05 again: %s", api_rc(fastmap_pin(&r, 1)));
	say("AP05 no file: %s", api_rc(fastmap_pin(&nowhere, 1)));
	say("AP05 bytes: %d", touch(FIRST, FIRST + PINNED));
	p[FIRST * PAGE] = 77;
	say("AP05 others: %d", touch(FIRST + PINNED, PAGES));
	say("AP05 most are there: %d", is_tiny() || there() > PINNED / 2);
	say("AP05 stored: %d", ct_load(p + FIRST * PAGE));
	say("AP05 unpin: %s", api_rc(fastmap_unpin(&r, 1)));
	say("AP05 others: %d", touch(FIRST + PINNED, PAGES));
	munmap(p + 20 * PAGE, 10 * PAGE);
	say("AP05 a hole: %s", api_rc(fastmap_pin(&r, 1)));
	say("AP05 bytes: %d", touch(FIRST + 1, 20) &&
	    touch(30, FIRST + PINNED));
	munmap(p, PAGES * PAGE);
	return 0;
}
