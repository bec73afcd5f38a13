/* SPDX-License-Identifier: MIT */
/* C106f: the files in which processes claim theirs are replaced while every
 * descriptor of a process that has stored is taken. It sleeps while another one
 * maps its file, which sees the byte, and whose store is seen. */
/* needs: root */
#include "asleep.h"
#include "places.h"

#include <sys/resource.h>

#define LIMIT 256

static const char *const others[] = { "/dev/shm/0", "/dev/shm/1" };

static int maps(void *arg)
{
	int fd;

	puts_to_sleep();
	fd = open(ct_path("2"), O_RDWR);
	return sees(ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0));
}

static pid_t begin(int (*run)(void *))
{
	pid_t pid = fork();

	if (pid < 0)
		ct_die("fork");
	if (!pid)
		_exit(run(NULL));
	return pid;
}

static void full(void)
{
	struct rlimit lim = { LIMIT, LIMIT };
	pid_t other;
	char *p;
	int fd;

	begin_waker();
	begin_has_stored();
	other = begin(maps);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	fd = ct_file("2", PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	close(fd);
	ct_store(p + 3 * PAGE + 9, 'o');
	for (int k = 0; k < 2; k++)
		new_place(others[k], place_modes[k]);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	for (int k = 0; k < 2; k++)
		rename(others[k], place_names[k]);
	usleep(SLEEPS_US); /* for what hears of it */
	ct_store(p + 3 * PAGE + 9, 's');
	*has_stored = 1;
	say("C106f another process: %c", ct_ended(other));
	say("C106f its store: %c", ct_load(p + 3 * PAGE + 10));
	kill(waker, SIGKILL);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	own_places();
	say_child("C106f", full);
	return 0;
}
