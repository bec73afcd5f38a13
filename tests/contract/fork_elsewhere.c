/* SPDX-License-Identifier: MIT */
/* X34p: a process that has stored, and has another /dev/shm by then, or none,
 * sleeps while its child of fork looks: the byte is seen, and what is stored
 * there. */
/* needs: root */
#include "asleep.h"

#include <sched.h>
#include <sys/mount.h>

static int as_it_was(void)
{
	return 0;
}

static int another(void)
{
	return unshare(CLONE_NEWNS) ||
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", "/dev/shm", "tmpfs", 0, NULL);
}

/* With the /proc that there was. */
static int other_root(void)
{
	const char *proc = ct_path("root/proc");

	return mkdir(ct_path("root"), 0755) || mkdir(proc, 0755) ||
	       unshare(CLONE_NEWNS) ||
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("/proc", proc, NULL, MS_BIND, NULL) ||
	       chroot(ct_path("root")) || chdir("/");
}

static const struct way {
	const char *name, *file;
	int (*leave)(void);
} ways[] = {
	{ "X34p as it was", "1", as_it_was },
	{ "X34p another", "2", another },
	{ "X34p other root", "3", other_root },
};

static const struct way *way;

static void family(void)
{
	char *p;
	int fd;

	begin_waker();
	fd = ct_file(way->file, PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	close(fd);
	ct_store(p, 1);
	say("%s: %s", way->name, ct_errno(way->leave() != 0));
	say_looks(way->name, p, looks);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (unsigned k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
		way = &ways[k];
		say_child("X34p", family);
	}
	return 0;
}
