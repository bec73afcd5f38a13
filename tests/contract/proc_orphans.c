/* SPDX-License-Identifier: MIT */
/* X28: programs that map files end, in one way or another, below a process that
 * orphans come to and that does not have the library: it waits by system calls
 * of its own. And one with the library waits for children of any kind. */
/* timeout: 60 */
#include "ct.h"

#include <pthread.h>
#include <sys/prctl.h>

#define MANY 80 /* files */

static pid_t raw_wait(pid_t pid, int *status, int flags)
{
	register long r10 __asm__("r10") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(61L), "D"((long)pid), "S"(status),
			   "d"((long)flags), "r"(r10)
			 : "rcx", "r11", "memory");
	return (pid_t)r;
}

static char *store(const char *name, int flags)
{
	int fd = ct_file(name, 16 * PAGE);
	char *p = ct_map(fd, 16 * PAGE, RW, flags, 0);

	for (int i = 0; i < 16; i++)
		p[i * PAGE] = 's';
	close(fd);
	return p;
}

/* With statistics or a control socket the guardian stays to see to them, see
 * limits.md; there is a socket where a system has a folder for it. */
static void execute_itself(void)
{
	unsetenv("FASTMAP_STATS");
	setenv("FASTMAP_SOCKET", "none", 1);
	execl("/proc/self/exe", "itself", ct_dir, "exec", NULL);
	ct_die("exec");
}

static void *leave(void *arg)
{
	_exit(0);
}

static void ends(const char *how)
{
	char name[16];
	pthread_t t;

	if (!strcmp(how, "exec"))
		execute_itself();
	store("x", !strcmp(how, "private") ? MAP_PRIVATE : MAP_SHARED);
	for (int i = 0; !strcmp(how, "many files") && i < MANY; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		ct_map(open(ct_path(name), O_RDONLY), PAGE, PROT_READ,
		       MAP_SHARED, 0);
	}
	if (!strcmp(how, "both"))
		store("y", MAP_PRIVATE);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, leave, NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(how, "child") && fork() == 0) {
		store("z", MAP_SHARED);
		_exit(0);
	}
	if (!strcmp(how, "child"))
		wait(NULL);
	exit(0);
}

static void below(const char *how)
{
	pid_t pid = fork(), r;
	int status = 0, unknown = 0;

	if (pid == 0)
		ends(how);
	if (raw_wait(pid, &status, 0) != pid)
		ct_die("wait4");
	for (int t = 0; t < 100; t++) { /* 0.2 s */
		while ((r = raw_wait(-1, NULL, WNOHANG | __WALL)) > 0)
			unknown++;
		usleep(2000);
	}
	say("X28 %s: %d, unknown children %d, %s", how, status, unknown,
	    r == -ECHILD ? "no child" : "a child lives");
}

static void below_a_reaper(void)
{
	static const char *const how[] = { "return", "_exit", "quick_exit",
					   "thread", "exec", "private", "both",
					   "child", "many files" };

	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		ct_die("prctl");
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		below(how[i]);
}

static void say_wait(const char *what, int flags)
{
	pid_t r = waitpid(-1, NULL, flags);

	say("X28 %s: %s", what, r < 0 ? strerrorname_np(errno) :
				r ? "a child" : "nobody yet");
}

static void waits_itself(void)
{
	siginfo_t info;
	char *p = store("own", MAP_SHARED);

	say_wait("any", WNOHANG);
	say_wait("of any kind", WNOHANG | __WALL);
	say_wait("of any kind", __WALL);
	say_wait("that raise no signal", __WCLONE);
	say("X28 waitid: %d %s",
	    waitid(P_ALL, 0, &info, WEXITED | __WALL), strerrorname_np(errno));
	if (fork() == 0)
		_exit(0);
	say_wait("of any kind", __WALL);
	say_wait("of any kind", __WALL);
	p[0] = 't';
	munmap(p, 16 * PAGE);
}

int main(int argc, char **argv)
{
	char name[16];

	ct_begin(argc, argv);
	if (argc > 2) {
		store("x", MAP_SHARED);
		execl("/bin/true", "true", NULL);
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		close(ct_file(name, PAGE));
	}
	waits_itself();
	below_a_reaper();
	return 0;
}
