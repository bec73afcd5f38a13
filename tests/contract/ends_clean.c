/* SPDX-License-Identifier: MIT */
/* X21: a program writes an executable through a shared mapping, as linkers do,
 * and ends without munmap, in one way or another; it is executed at once. */
/* not taken: who advises a process keeps its memory, and with it what is mapped
 * there, for a moment longer than the process lives: natively, too. */
#include "ct.h"

#include <pthread.h>
#include <spawn.h>

extern char **environ;

#define ROUNDS 8
/* Who reads the maps of a process keeps its memory, and what is mapped there,
 * for a moment longer than the process lives, and the library's other processes
 * do. Natively 4 ends of 2240 were busy, beside two that did nothing else. */
#define BY_OTHERS 2
#define EXTRA (64 * PAGE) /* behind what is executed */

static const char *const ways[] = { "return", "exit", "_exit", "thread",
				    "last thread", "child", "two files" };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static char *map_of(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	char *p;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		_exit(101);
	p = ct_map(fd, size, RW, MAP_SHARED, 0);
	close(fd);
	return p;
}

static char *copy_of(const char *from, const char *to, size_t *ret_size)
{
	int fd = open(from, O_RDONLY);
	struct stat st;
	char *p, *buf;

	if (fd < 0 || fstat(fd, &st))
		_exit(102);
	*ret_size = (size_t)st.st_size;
	buf = malloc(*ret_size);
	p = map_of(to, *ret_size + EXTRA);
	if (read(fd, buf, *ret_size) != (ssize_t)*ret_size)
		_exit(103);
	memcpy(p, buf, *ret_size);
	return p;
}

static volatile char *stored;

static void *store(void *arg)
{
	for (size_t i = 0;; i = (i + PAGE) % EXTRA)
		stored[i]++;
	return arg;
}

static void *rest(void *arg)
{
	usleep(30000);
	return arg;
}

static int ends(const char *how, const char *name)
{
	char *none[] = { "true", NULL };
	size_t size;
	char *p = copy_of("/bin/true", name, &size);
	pthread_t t;

	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "exec"))
		execv("/bin/true", none);
	if (!strcmp(how, "thread")) {
		stored = p + ((size + PAGE - 1) & ~(PAGE - 1));
		pthread_create(&t, NULL, store, NULL);
		usleep(1000);
		exit(0);
	}
	if (!strcmp(how, "last thread")) {
		pthread_create(&t, NULL, rest, NULL);
		usleep(20000);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "child") && fork() == 0) {
		p[size + PAGE] = 1;
		_exit(0);
	}
	if (!strcmp(how, "child"))
		wait(NULL);
	if (!strcmp(how, "two files"))
		copy_of("/bin/true", ct_path("other"), &size);
	return 0;
}

static int run(char *const argv[])
{
	int status = 0;
	pid_t pid;
	int err = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);

	if (err)
		return -err;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 1000 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *x;

	ct_begin(argc, argv);
	if (argc > 3)
		return ends(argv[2], argv[3]);
	x = ct_path("x");
	for (size_t w = 0; w < WAYS; w++) {
		char *writer[] = { argv[0], ct_dir, (char *)ways[w], (char *)x,
				   NULL };
		char *written[] = { (char *)x, NULL };
		int bad = 0, busy = 0;

		for (int r = 0; r < ROUNDS; r++) {
			int how, done = run(writer);

			how = run(written);
			bad += done != 0 || (how && how != -ETXTBSY);
			busy += how == -ETXTBSY;
			unlink(x);
		}
		say("X21 %s: busy %d bad %d", ways[w],
		    busy > BY_OTHERS ? busy : 0, bad);
	}
	return 0;
}
