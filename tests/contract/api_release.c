/* SPDX-License-Identifier: MIT */
/* AP03: after fastmap_release the bytes are those of the file, what had been
 * stored is in it, and private pages stay; fastmap_resident, _advise, _stat. */
#include "api.h"

#define PAGES 300

static unsigned char vec[PAGES];

static void shared(int fd)
{
	const struct fastmap_range none = { NULL, 0 };
	char *p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	struct fastmap_range r[2] = { { p, 7 * PAGE },
				      { p + 9 * PAGE, 200 * PAGE } };

	for (int i = 0; i < PAGES; i += 3)
		p[(size_t)i * PAGE + 9] = (char)i;
	say("AP03 release: %s", api_rc(fastmap_release(r, 2)));
	if (!fastmap_available())
		fastmap_sync(p, PAGES * PAGE);
	say("AP03 in the file: %d %d", ct_in_file(fd, 9),
	    ct_in_file(fd, (off_t)(99 * PAGE + 9)));
	say("AP03 in memory: %d %d", ct_load(p + 9),
	    ct_load(p + 99 * PAGE + 9));
	say("AP03 nothing: %s", api_rc(fastmap_release(&none, 1)));
	*p = 1;
	say_rc("AP03 resident", fastmap_resident(p, PAGE, vec));
	say("AP03 it is: %d", vec[0] & 1);
	say_rc("AP03 resident, odd", fastmap_resident(p + 1, PAGE, vec));
	munmap(p + PAGE, PAGE);
	say_rc("AP03 hole", fastmap_resident(p, 3 * PAGE, vec));
	say("AP03 release beyond: %s", api_rc(fastmap_release(r, 2)));
	munmap(p, PAGES * PAGE);
}

static void private(int fd)
{
	char *p = api_map(fd, PAGES * PAGE, RW, MAP_PRIVATE);
	const struct fastmap_range r = { p, PAGES * PAGE };

	p[0] = 88;
	say("AP03 private: %s", api_rc(fastmap_release(&r, 1)));
	say("AP03 its own: %d, the file's: %d", p[0],
	    ct_load(p + 20 * PAGE + 1));
	munmap(p, PAGES * PAGE);
}

static int advise(char *p, size_t len, int pattern)
{
	const struct fastmap_range r[2] = { { p, len / 2 },
					    { p + len / 2, len - len / 2 } };

	return fastmap_advise(r, 2, pattern, 0);
}

static void advised(int fd)
{
	char *p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);

	for (int i = FASTMAP_NORMAL; i <= FASTMAP_SEQUENTIAL; i++)
		say("AP03 advise %d: %s", i,
		    api_rc(advise(p + 10, PAGES * PAGE - 10, i)));
	say("AP03 advise: %s", api_fails(advise(p, PAGE, 3), EINVAL));
	say("AP03 bytes: %d", ct_matches(p + 200 * PAGE + 10, PAGE - 10,
					200 * PAGE + 10));
	munmap(p, PAGES * PAGE);
}

static void counted(void)
{
	struct fastmap_stat s, old = { 0 };

	memset(&s, 0xff, sizeof(s));
	say("AP03 stat: %s", api_rc(fastmap_stat(&s, sizeof(s))));
	say("AP03 size: %d",
	    !fastmap_available() || s.size == sizeof(s));
	say("AP03 older program: %s", api_rc(fastmap_stat(&old, 16)));
	say("AP03 the rest: %d", !old.cache_resident);
	say("AP03 too small: %s", api_fails(fastmap_stat(&s, 7), EINVAL));
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	shared(fd);
	private(fd);
	advised(fd);
	counted();
	return 0;
}
