/* SPDX-License-Identifier: MIT */
/* X07: a mapped file is written anew by fopen and freopen, over and over, while
 * another thread forks. Nobody waits for ever. (Nor writes out all streams:
 * freopen and fflush(NULL) wait for each other in libc itself.) No child has
 * the file open last: it would go to the kernel, and there would be nothing to
 * wait for. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define BYTES (64 * PAGE)
#define FORKS 60

static _Atomic bool stop;
static _Atomic int written;
static pthread_rwlock_t child = PTHREAD_RWLOCK_INITIALIZER;

static FILE *open_anew(const char *path, int n)
{
	FILE *fp;

	if (n % 2)
		return fopen(path, "w");
	fp = fopen("/dev/null", "w");
	return fp ? freopen(path, "w", fp) : NULL;
}

static void *rewrite(void *path)
{
	for (int n = 0; !stop; n++) {
		FILE *fp = open_anew(path, n);

		if (!fp)
			ct_die("fopen");
		if (fprintf(fp, "%d", n) < 1 || ftruncate(fileno(fp), BYTES))
			ct_die("write");
		pthread_rwlock_wrlock(&child);
		if (fclose(fp))
			ct_die("fclose");
		pthread_rwlock_unlock(&child);
		written++;
	}
	return NULL;
}

static bool fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(7);
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WEXITSTATUS(status) == 7;
}

int main(int argc, char **argv)
{
	pthread_t t;
	volatile char *m;
	char *path;
	int fd, bad = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", BYTES);
	path = strdup(ct_path("f"));
	m = ct_map(fd, BYTES, RW, MAP_SHARED, 0);
	pthread_create(&t, NULL, rewrite, path);
	for (int n = 0; n < FORKS; n++) {
		pthread_rwlock_rdlock(&child);
		bad += !fork_once();
		pthread_rwlock_unlock(&child);
		usleep(1000);
	}
	stop = true;
	pthread_join(t, NULL);
	say("X07 bad %d, written %d, mapped %d", bad, written > 0,
	    m[BYTES - 1] == 0);
	return 0;
}
