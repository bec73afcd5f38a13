/* SPDX-License-Identifier: MIT */
/* C51s: pages of a mapping are stored to, and the file is cut: by ftruncate, by
 * open(O_TRUNC), or by a call that is refused. The process goes on, or is
 * killed. What was stored before the end is in the file, what was cut off is
 * not, and what was not cut off after all is. */
#include "ct.h"

#define PAGES 64ul
#define MIDDLE (20 * PAGE + 100)

static int fd;
static char *map;

static void store_all(void)
{
	fd = open(ct_path("f"), O_RDWR);
	map = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < PAGES; i += 3)
		memset(map + i * PAGE + 50, 0x51, 200);
}

/* By a descriptor that may only be read. */
static void refused(void)
{
	const int ro = open(ct_path("f"), O_RDONLY);

	say_rc("C51s refused", ftruncate(ro, (off_t)MIDDLE));
	close(ro);
}

static void cut(void)
{
	say_rc("C51s cut", ftruncate(fd, (off_t)MIDDLE));
}

static void cut_and_grown(void)
{
	cut();
	say_rc("C51s grown", ftruncate(fd, (off_t)(PAGES * PAGE)));
	say("C51s zero behind it: %d", ct_zero(map + 21 * PAGE, 43 * PAGE));
	map[30 * PAGE] = 0x52;
}

static void emptied(void)
{
	close(open(ct_path("f"), O_RDWR | O_TRUNC));
	say_load("C51s emptied", map, 3 * PAGE);
}

static void emptied_and_grown(void)
{
	emptied();
	say_rc("C51s grown", ftruncate(fd, (off_t)(PAGES * PAGE)));
	map[30 * PAGE] = 0x52;
}

/* What a hole takes is not cut off, but zero. */
static void holed(void)
{
	say_rc("C51s hole", madvise(map + 10 * PAGE, 20 * PAGE, MADV_REMOVE));
	map[15 * PAGE] = 0x53;
}

struct way {
	const char *name;
	void (*run)(void);
	bool killed;
};

static int child(void *arg)
{
	const struct way *w = arg;

	store_all();
	w->run();
	if (w->killed)
		kill(getpid(), SIGKILL);
	return 0;
}

/* The mmap waits until nobody writes for the dead any more. */
static void settle(void)
{
	fd = open(ct_path("f"), O_RDWR);
	munmap(ct_map(fd, PAGE, RW, MAP_SHARED, 0), PAGE);
	close(fd);
}

static void one(const struct way *w)
{
	char what[64];
	struct stat st;
	static unsigned char bytes[PAGES * PAGE + 1];
	unsigned sum = 0;

	snprintf(what, sizeof(what), "C51s %s%s", w->name,
		 w->killed ? ", killed" : "");
	close(ct_file("f", PAGES * PAGE));
	const int how = ct_child(child, (void *)w);
	settle();
	fd = open(ct_path("f"), O_RDONLY);
	fstat(fd, &st);
	const ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	say("%s: ended by %d, size %ld, sum %08x", what, how, (long)st.st_size,
	    sum);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	static struct way ways[] = {
		{ "refused", refused, false },
		{ "cut", cut, false },
		{ "cut and grown", cut_and_grown, false },
		{ "holed", holed, false },
		{ "emptied", emptied, false },
		{ "emptied and grown", emptied_and_grown, false },
	};

	ct_begin(argc, argv);
	for (int killed = 0; killed < 2; killed++)
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
			ways[i].killed = killed;
			one(&ways[i]);
		}
	return 0;
}
