/* SPDX-License-Identifier: MIT */
/* X09: somebody kills the processes of a moment by which the library hands a
 * file over, while it does so: the bytes stay right, the program goes on. */
#include "ct.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#define PAGES 64ul
#define ROUNDS ct_rounds(70, 600)

static _Atomic bool over;

/* The guardian is to stay. */
static bool is_of_a_moment(int pid)
{
	char path[64], name[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, name, sizeof(name) - 1) <= 0)
		name[0] = 0;
	if (fd >= 0)
		close(fd);
	return name[0] && strncmp(name, "fastmap-guard", 13);
}

static void kill_children_of(const char *task)
{
	char path[300], list[256] = "", *at, *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%s/children", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, list, sizeof(list) - 1) < 0)
		list[0] = 0;
	close(fd);
	for (at = list; *at && *at != '\n'; at = end + (*end == ' ')) {
		int pid = (int)strtol(at, &end, 10);

		if (end == at)
			return;
		if (is_of_a_moment(pid))
			kill(pid, SIGKILL);
	}
}

static void *killer(void *arg)
{
	while (!over) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;

		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.')
				kill_children_of(e->d_name);
		if (d)
			closedir(d);
	}
	return NULL;
}

/* Two mappings, stored to; that one page is locked hands both over. */
static int one_round(int k)
{
	int fd = ct_file("f", PAGES * PAGE), wrong = 0;
	char *a = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	char *b = ct_map(fd, PAGES * PAGE, RW, MAP_PRIVATE, 0);

	for (size_t i = 0; i < PAGES; i += 2)
		a[i * PAGE + 1] = (char)k;
	b[PAGE + 2] = (char)k;
	mlock(a, PAGE);
	for (size_t i = 0; i < PAGES; i++) {
		wrong += a[i * PAGE + 1] !=
			 (i % 2 ? (char)ct_byte(i * PAGE + 1) : (char)k);
		wrong += b[i * PAGE + 3] != (char)ct_byte(i * PAGE + 3);
	}
	wrong += b[PAGE + 2] != (char)k;
	munmap(a, PAGES * PAGE);
	munmap(b, PAGES * PAGE);
	for (size_t i = 0; i < PAGES; i += 2) {
		char c;

		wrong += pread(fd, &c, 1, (off_t)(i * PAGE + 1)) != 1 ||
			 c != (char)k;
	}
	close(fd);
	return wrong;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int wrong = 0;

	ct_begin(argc, argv);
	if (pthread_create(&t, NULL, killer, NULL))
		ct_die("pthread_create");
	for (int k = 1; k <= ROUNDS; k++)
		wrong += one_round(k);
	over = true;
	pthread_join(t, NULL);
	say("X09 wrong bytes: %d", wrong);
	return 0;
}
