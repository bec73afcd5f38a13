/* SPDX-License-Identifier: MIT */
/* AP02: fastmap_prefetch brings what has room, once, and its ticket ends: by
 * waiting, by a descriptor, after unmap. */
#include "api.h"

#define PAGES 2048
#define ROWS 64

static struct fastmap_range rows[ROWS];

/* Every 31st page, some twice, some odd. */
static void fill(char *p)
{
	for (int i = 0; i < ROWS; i++)
		rows[i] = (struct fastmap_range){
			p + (size_t)(i / 2 * 31 % PAGES) * PAGE + i % 7, 100 };
}

static int bytes_of_rows(const char *p)
{
	int right = 0;

	for (int i = 0; i < ROWS; i++)
		right += ct_matches(rows[i].addr, rows[i].len,
				    (uint64_t)((char *)rows[i].addr - p));
	return right;
}

static void by_descriptor(char *p)
{
	const struct fastmap_range all = { p, PAGES * PAGE };
	fastmap_ticket t = fastmap_prefetch(&all, 1, 0);
	struct pollfd q = { -1, POLLIN, 0 };

	say("AP02 all: %s", api_rc(t));
	q.fd = fastmap_ticket_fd(t < 0 ? 0 : t);
	say("AP02 descriptor: %s", api_rc(q.fd));
	say("AP02 it tells: %d",
	    !fastmap_available() || poll(&q, 1, CT_PATIENCE) == 1);
	say("AP02 then it is over: %s", api_rc(fastmap_wait(t < 0 ? 0 : t, 0)));
	close(q.fd);
}

int main(int argc, char **argv)
{
	struct fastmap_range none = { NULL, 0 }, far;
	fastmap_ticket t;
	char *p;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	ct_uncache(fd);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	fill(p);
	t = fastmap_prefetch(rows, ROWS, 0);
	say("AP02 rows: %s", api_rc(t));
	say("AP02 wait: %s", api_rc(fastmap_wait(t < 0 ? 0 : t, CT_PATIENCE)));
	say("AP02 again: %s", api_rc(fastmap_wait(t < 0 ? 0 : t, 0)));
	say("AP02 right: %d", bytes_of_rows(p));
	p[9] = 1; /* a fault, whatever came */
	by_descriptor(p);
	say("AP02 flags: %s", api_fails(fastmap_prefetch(rows, 1, 8), EINVAL));
	say("AP02 no ticket: %s", api_fails(fastmap_wait(-1, 0), EINVAL));
	say("AP02 never one: %s",
	    api_fails(fastmap_wait((fastmap_ticket)1 << 36, 0), EINVAL));
	say("AP02 nothing: %s", api_rc(fastmap_prefetch(&none, 1, 0)));
	far = (struct fastmap_range){ (void *)(1ul << 45), PAGE };
	api_prefetch(&far, 1);
	far = (struct fastmap_range){ p, -1ul };
	say("AP02 past the end: %s", api_rc(fastmap_prefetch(&far, 1, 0)));
	api_prefetch(rows, ROWS);
	munmap(p, PAGES * PAGE);
	api_prefetch(rows, ROWS);
	say("AP02 unmapped: fine");
	return 0;
}
