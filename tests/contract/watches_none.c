/* SPDX-License-Identifier: MIT */
/* C75: the user has no inotify watch left (fs.inotify.max_user_watches, here
 * the limit of a user namespace): parent and child on a shared mapping. */
#include "ct.h"

#include <sched.h>
#include <time.h>

#define PAGES 512

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ct_skip("user namespaces");
	close(fd);
}

static void no_watches(void)
{
	char map[40];

	snprintf(map, sizeof(map), "%d %d 1", (int)getuid(), (int)getuid());
	if (unshare(CLONE_NEWUSER))
		ct_skip("user namespaces");
	put("/proc/self/uid_map", map);
	put("/proc/sys/user/max_inotify_watches", "0");
}

static int now;

static int looks(void *arg)
{
	char *p = arg;

	if (p[7 * PAGE] != now)
		return 1;
	p[8 * PAGE] = (char)(now + 1);
	return 0;
}

static void child_of(char *p, int i)
{
	time_t from = time(NULL);
	int status;

	p[7 * PAGE] = (char)i;
	now = i;
	status = ct_child(looks, p);
	say("C75 child: %d, its store %d", status, p[8 * PAGE]);
	say("C75 at once: %d", time(NULL) - from < 5);
}

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	no_watches();
	fd = ct_file("a", PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE + 1] = (char)i;
	child_of(p, 3);
	child_of(p, 5);
	return 0;
}
