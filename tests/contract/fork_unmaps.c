/* SPDX-License-Identifier: MIT */
/* X18: a child of fork unmaps what it has not touched, and goes on with the
 * descriptor: it sees what the parent stores after that, and what it writes
 * stays. */
#include "ct.h"

#include <sys/wait.h>

#define LEN (1024 * PAGE)

static char *map;
static volatile int *at;
static int fd;

static void wait_until(int step)
{
	while (*at < step)
		usleep(1000);
}

static void child_reads_and_writes(void)
{
	char c = 0;

	munmap(map, LEN);
	*at = 1;
	wait_until(2);
	if (pread(fd, &c, 1, 1) != 1)
		c = '?';
	say("X18 the child reads %c", c);
	if (pwrite(fd, "C", 1, 2) != 1)
		say("X18 pwrite");
	*at = 3;
	_exit(0);
}

/* Another program inherits the descriptor, and nothing of ours: it reads what
 * the parent has stored meanwhile, and writes behind it. */
static void child_execs(void)
{
	munmap(map, LEN);
	*at = 1;
	dup2(fd, 0);
	lseek(0, 1, SEEK_SET);
	unsetenv("LD_PRELOAD");
	execl("/bin/sh", "sh", "-c",
	      "sleep 0.3; echo \"X18 sh reads $(dd bs=1 count=1 2>/dev/null)\"; "
	      "printf C >&0",
	      (char *)NULL);
	_exit(9);
}

static void child_maps_again(void)
{
	char *p;

	munmap(map, LEN);
	p = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
	*at = 1;
	wait_until(2);
	say("X18 mapped again: %c", p[1]);
	p[2] = 'C';
	*at = 3;
	_exit(0);
}

static void one(const char *what, void (*child)(void))
{
	int status = -1;
	char c = 0;
	pid_t pid;

	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	map[1] = 'o';
	map[2] = 'o';
	*at = 0;
	pid = fork();
	if (!pid)
		child();
	wait_until(1);
	map[1] = 'P';
	*at = 2;
	if (child != child_execs)
		wait_until(3);
	usleep(50000);
	if (child == child_execs)
		waitpid(pid, &status, 0);
	say("X18 %s: the parent reads %c", what, map[2]);
	if (child != child_execs)
		waitpid(pid, &status, 0);
	map[3] = 'e';
	say_rc("X18 msync", msync(map, LEN, MS_SYNC));
	if (pread(fd, &c, 1, 2) != 1)
		c = '?';
	say("X18 %s: %c in the file, child %d", what, c, status);
	munmap(map, LEN);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	at = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	one("by calls", child_reads_and_writes);
	one("mapped again", child_maps_again);
	one("by another program", child_execs);
	return 0;
}
