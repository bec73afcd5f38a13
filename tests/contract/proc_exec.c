/* SPDX-License-Identifier: MIT */
/* exec, spawn and exit: strings in mapped memory, stores seen by the next
 * program, what it inherits, and life after an exec that failed. */
/* not engaged: ends by exec, which writes no statistics */
#include "ct.h"

#include <spawn.h>

static char *map;
static int fd;
static int next_page;

/* A string in a page that nobody has touched. */
static char *in_map(const char *s)
{
	size_t off = (size_t)next_page++ * PAGE;

	ct_pwrite(fd, s, strlen(s) + 1, (off_t)off);
	return map + off;
}

static void wait_for(const char *what, pid_t pid)
{
	say("K8 %s: exit %d", what, ct_ended(pid));
}

/* A vector in the mapping, too. */
static char **vector(const char *a, const char *b, const char *c)
{
	char **v = (char **)(void *)(map + (size_t)next_page++ * PAGE);
	char *want[4] = { in_map(a), in_map(b), in_map(c), NULL };

	ct_pwrite(fd, want, sizeof(want), (char *)v - map);
	return v;
}

static char **script(const char *text)
{
	return vector("sh", "-c", text);
}

static void run_execve(void)
{
	execve(in_map("/bin/sh"), script("echo \"K8 execve $X\""),
	       vector("X=1", "Y=2", "Z=3"));
}

static void run_execv(void)
{
	execv(in_map("/bin/sh"), script("echo K8 execv"));
}

static void run_execvp(void)
{
	execvp(in_map("sh"), script("echo K8 execvp"));
}

static void run_execvpe(void)
{
	execvpe(in_map("sh"), script("echo \"K8 execvpe $X\""),
		vector("X=1", "Y=2", "PATH=/bin"));
}

static void run_execl(void)
{
	execl(in_map("/bin/sh"), in_map("sh"), in_map("-c"),
	      in_map("echo K8 execl \"$@\""), in_map("zero"), "1", "2", "3",
	      "4", "5", "6", "7", in_map("8"), NULL);
}

static void run_execlp(void)
{
	execlp(in_map("sh"), "sh", "-c", in_map("echo K8 execlp"), NULL);
}

static void run_execle(void)
{
	execle(in_map("/bin/sh"), "sh", in_map("-c"),
	       in_map("echo K8 execle $X"), NULL,
	       vector("X=1", "Y=2", "Z=3"));
}

static void run_fexecve(void)
{
	fexecve(open("/bin/sh", O_RDONLY), script("echo K8 fexecve"),
		environ);
}

static void run_execveat(void)
{
	execveat(AT_FDCWD, in_map("/bin/sh"), script("echo K8 execveat"),
		 environ, 0);
}

/* exec from a child whose memory is a copy: the strings are in kernel
 * mappings there. exec from the process itself comes last. */
static void families(void)
{
	void (*const f[])(void) = { run_execve,	 run_execv,  run_execvp,
				    run_execvpe, run_execl,  run_execlp,
				    run_execle,	 run_fexecve, run_execveat };

	for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++)
		say_child("K8 family", f[i]);
}

static void failing(void)
{
	say_rc("K8 exec of nothing",
	       execv(in_map("/nonexistent/x"), script("true")));
	say("K8 page after that %d", !strcmp(in_map("still here"),
					     "still here"));
	say_rc("K8 execl of nothing", execl("/nonexistent/x", "x", NULL));
}

static void spawns(void)
{
	pid_t pid;

	say("K4 posix_spawn %d",
	    posix_spawn(&pid, in_map("/bin/sh"), NULL, NULL,
			script("exit 3"), environ));
	wait_for("posix_spawn", pid);
	say("K4 posix_spawnp %d",
	    posix_spawnp(&pid, in_map("sh"), NULL, NULL,
			 script("exit $X"), vector("X=4", "A=b", "C=d")));
	wait_for("posix_spawnp", pid);
	say("K4 posix_spawn of nothing %d",
	    posix_spawn(&pid, in_map("/nonexistent"), NULL, NULL,
			script(""), environ) == ENOENT);
	say("K4 system %d", WEXITSTATUS(system(in_map("exit 5"))));
	say("K4 a shell is there %d", system(NULL) != 0);
	say("K4 popen %d",
	    WEXITSTATUS(pclose(popen(in_map("exit 6"), "r"))));
}

/* What the next program reads with read(2) is what was stored. */
static void stores(const char *name)
{
	static char command[4096];
	char *args[] = { "cat", (char *)(uintptr_t)name, NULL };
	char *file;
	pid_t pid;
	int f = ct_file("stores", PAGE);

	file = ct_map(f, PAGE, RW, MAP_SHARED, 0);
	strcpy(file, "K8 stored before system\n");
	if (ftruncate(f, (off_t)strlen(file)))
		ct_die("ftruncate");
	snprintf(command, sizeof(command), "cat %s", name);
	say("K8 system %d", system(command));
	memcpy(file, "K8 stored before spawn_\n", strlen(file));
	posix_spawnp(&pid, "cat", NULL, NULL, args, environ);
	wait_for("spawn", pid);
	memcpy(file, "K8 stored before vfork_\n", strlen(file));
	pid = vfork();
	if (pid == 0) {
		execvp("cat", args);
		_exit(127);
	}
	wait_for("vfork", pid);
	memcpy(file, "K8 stored before fork__\n", strlen(file));
	pid = fork();
	if (pid == 0) {
		execvp("cat", args);
		_exit(127);
	}
	wait_for("fork", pid);
	pid = vfork();
	if (pid == 0) {
		execl("/nonexistent/x", "x", NULL);
		_exit(9);
	}
	wait_for("vfork, exec failed", pid);
	memcpy(file, "K8 stored before exec__\n", strlen(file));
}

static void print_inherited(const char *when)
{
	struct sigaction sa;
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	sigaction(SIGBUS, NULL, &sa);
	say("K8 %s: SIGBUS blocked %d ignored %d", when,
	    sigismember(&now, SIGBUS), sa.sa_handler == SIG_IGN);
}

/* The masks that a new program starts with, from the kernel's own mouth. */
static void inherits(const char *how, int block, int ignore)
{
	static const char *const show =
		"while read k v; do case $k in SigBlk:|SigIgn:) "
		"echo \"K8 $0 $k $(( (0x$v >> 6) & 1 ))\";; esac; done "
		"</proc/$$/status";
	char *args[] = { "sh", "-c", (char *)(uintptr_t)show,
			 (char *)(uintptr_t)how, NULL };
	/* Nothing may be preloaded there: it is the kernel's view we want. */
	char *env[] = { "PATH=/bin:/usr/bin", NULL };
	sigset_t set;
	pid_t pid;

	signal(SIGBUS, ignore ? SIG_IGN : SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	print_inherited(how);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execve("/bin/sh", args, env);
		_exit(127);
	}
	wait_for(how, pid);
	pid = vfork();
	if (pid == 0) {
		execve("/bin/sh", args, env);
		_exit(127);
	}
	wait_for(how, pid);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGBUS, SIG_DFL);
}

/* Python's subprocess: everything blocked around vfork, the child takes its
 * mask back, which must not show in the parent. */
static void vfork_masks(void)
{
	char *args[] = { "true", NULL };
	sigset_t all, old, now;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = vfork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		signal(SIGBUS, SIG_DFL);
		execvp("true", args);
		_exit(127);
	}
	sigprocmask(SIG_BLOCK, NULL, &now);
	say("K4 parent of vfork: SIGBUS blocked %d",
	    sigismember(&now, SIGBUS));
	sigprocmask(SIG_SETMASK, &old, NULL);
	wait_for("vfork masks", pid);
	say("K4 page after vfork %d", !strcmp(in_map("fresh"), "fresh"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	signal(SIGBUS, SIG_DFL);
	fd = ct_file("strings", 512 * PAGE);
	map = ct_map(fd, 512 * PAGE, PROT_READ, MAP_SHARED, 0);
	spawns();
	failing();
	families();
	inherits("plain", 0, 0);
	inherits("blocked", 1, 0);
	inherits("ignored", 0, 1);
	vfork_masks();
	stores(ct_path("stores"));
	execlp(in_map("cat"), in_map("cat"), ct_path("stores"), NULL);
	ct_die("exec");
}
