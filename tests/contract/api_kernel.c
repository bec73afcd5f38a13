/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_SOCKET={own}/s */
/*
 * AP10: fastmap_prefetch, its ticket, fastmap_release and fastmap_advise of a
 * file that the kernel serves by now, of one that the engine serves, and of one
 * that changes its server meanwhile.
 */
#include "api.h"

#include "../stress/ask.h"

#define PAGES 1024ul
#define ROWS 32

static char *p;

static bool by_kernel(void)
{
	char text[80];

	return fastmap_why(p, text, sizeof(text)) > 0 &&
	       !strncmp(text, "the kernel", 10);
}

/* Natively nothing can be asked for. */
static void to(const char *word, bool kernel)
{
	for (int i = 0; fastmap_available() && i < 50 && by_kernel() != kernel;
	     i++)
		if (!ask(word))
			usleep(10000);
}

static int rows(struct fastmap_range *r)
{
	int right = 0;

	for (int i = 0; i < ROWS; i++)
		right += ct_matches(r[i].addr, PAGE,
				    (uint64_t)((char *)r[i].addr - p));
	return right;
}

static void ask_for(struct fastmap_range *r, const char *server)
{
	const fastmap_ticket t = fastmap_prefetch(r, ROWS, 0);
	const int fd = t > 0 ? fastmap_ticket_fd(t) : -1;
	struct pollfd over = { fd, POLLIN, 0 };

	say("AP10 %s, prefetch: %s", server, api_rc(t));
	if (fd >= 0 && poll(&over, 1, CT_PATIENCE) != 1)
		say("AP10 %s: its descriptor never told", server);
	if (fd >= 0)
		close(fd);
	if (t >= 0)
		say("AP10 %s, wait: %d", server, fastmap_wait(t, CT_PATIENCE));
	else
		say("AP10 %s, wait: 0", server);
}

static void each_way(const char *server)
{
	const struct fastmap_range all = { p, PAGES * PAGE };
	struct fastmap_range r[ROWS];

	for (int i = 0; i < ROWS; i++)
		r[i] = (struct fastmap_range){ p + (i * 31ul % PAGES) * PAGE,
					       PAGE };
	say("AP10 %s, release: %s", server, api_rc(fastmap_release(&all, 1)));
	ask_for(r, server);
	say("AP10 %s, bytes: %d", server, rows(r));
	say("AP10 %s, advise: %s", server,
	    api_rc(fastmap_advise(&all, 1, FASTMAP_SEQUENTIAL, 1 << 20)));
	p[PAGE * 999 + 5] = 77;
	say("AP10 %s, release: %s", server, api_rc(fastmap_release(r, ROWS)));
	say("AP10 %s, bytes: %d", server, rows(r));
	say("AP10 %s, as it began: %s", server,
	    api_rc(fastmap_advise(&all, 1, FASTMAP_NORMAL, 0)));
}

/* Where it never was the engine's it was the kernel's from the start. */
static int is_counted(void)
{
	struct fastmap_stat s = { 0 };

	if (fastmap_stat(&s, sizeof(s)))
		return !fastmap_available() && errno == ENOSYS;
	return s.kernel_bytes == PAGES * PAGE &&
	       s.kernel_asked >= ROWS * PAGE && s.major_faults < 1u << 30 &&
	       !s.engine_files;
}

int main(int argc, char **argv)
{
	struct fastmap_range whole;
	fastmap_ticket t;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	fdatasync(fd);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	whole = (struct fastmap_range){ p, PAGES * PAGE };
	each_way("engine");
	to("demote\n", true);
	each_way("kernel");
	say("AP10 kernel, counted: %d", is_counted());
	to("promote\n", false);
	each_way("engine again");
	fastmap_release(&whole, 1);
	t = fastmap_prefetch(&whole, 1, 0);
	to("demote\n", true);
	say("AP10 it goes meanwhile: %d",
	    t < 0 || !fastmap_wait(t, CT_PATIENCE));
	say("AP10 stored: %d", p[PAGE * 999 + 5]);
	munmap(p, PAGES * PAGE);
	return 0;
}
