/* SPDX-License-Identifier: MIT */
/* C38: threads that are cancelled in a system call leave nothing behind. The
 * statistics show that every file is served by the engine afterwards. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define N 16
#define LEN (64 * PAGE)

static char *map;
static int q[2];
static _Atomic int begun;
static char plain[128 << 10];

static void *reads_map(void *arg)
{
	atomic_fetch_add(&begun, 1);
	return (void *)read(q[0], map + (size_t)(intptr_t)arg * 3000, 6000);
}

static void *reads(void *arg)
{
	char c;

	atomic_fetch_add(&begun, 1);
	return (void *)read(q[0], &c, 1);
}

static void *writes_map(void *arg)
{
	atomic_fetch_add(&begun, 1);
	return (void *)write(q[1], map, LEN);
}

static void *writes(void *arg)
{
	atomic_fetch_add(&begun, 1);
	return (void *)write(q[1], plain, sizeof(plain));
}

static FILE *out;

static void *prints(void *arg)
{
	(void)arg;
	atomic_fetch_add(&begun, 1);
	fputs("a line\n", out);
	return (void *)(intptr_t)fflush(out);
}

static void cancel_in(const char *what, void *(*fn)(void *), bool fill)
{
	pthread_t id[N];
	int cancelled = 0;
	void *r;

	if (pipe(q))
		ct_die("pipe");
	if (fill) {
		fcntl(q[1], F_SETFL, O_NONBLOCK);
		while (write(q[1], plain, 4096) > 0)
			;
		fcntl(q[1], F_SETFL, 0);
	}
	out = fdopen(dup(q[1]), "w");
	atomic_store(&begun, 0);
	for (int i = 0; i < N; i++)
		pthread_create(&id[i], NULL, fn, (void *)(intptr_t)i);
	while (atomic_load(&begun) < N)
		usleep(1000);
	usleep(20000);
	for (int i = 0; i < N; i++)
		pthread_cancel(id[i]);
	for (int i = 0; i < N; i++) {
		pthread_join(id[i], &r);
		cancelled += r == PTHREAD_CANCELED;
	}
	close(q[0]);
	close(q[1]);
	fclose(out);
	say("C38 %s: cancelled %d", what, cancelled);
}

/* A file on both descriptors' numbers, mapped for the first time. */
static void map_others(const char *what)
{
	char name[16];
	int fd[2], odd = 0;

	for (int i = 0; i < 2; i++) {
		char *m;

		snprintf(name, sizeof(name), "other%d", i);
		fd[i] = ct_file(name, LEN);
		m = ct_map(fd[i], LEN, RW, MAP_SHARED, 0);
		odd += !ct_matches(m, LEN, 0);
		m[5] = 'x';
		odd += ct_in_file(fd[i], 5) != 'x';
		munmap(m, LEN);
		unlink(ct_path(name));
	}
	close(fd[0]);
	close(fd[1]);
	say("C38 %s, other files mapped: wrong %d", what, odd);
}

static void check(const char *what, int fd)
{
	int odd = 0;

	for (size_t i = 0; i < LEN; i += 512)
		map[i] = (char)(i >> 9);
	say("C38 %s, msync: %s", what, ct_errno(msync(map, LEN, MS_SYNC) < 0));
	for (size_t i = 0; i < LEN; i += 512)
		odd += ct_in_file(fd, (off_t)i) != (int)((i >> 9) & 0xff);
	say("C38 %s, file: wrong %d", what, odd);
}

static void round_of(const char *what, void *(*fn)(void *), bool fill, int fd)
{
	cancel_in(what, fn, fill);
	check(what, fd);
	map_others(what);
}

/* syscall() is no cancellation point, whatever it calls. */
static void *by_number(void *arg)
{
	const int fd = (int)(intptr_t)arg;

	pthread_cancel(pthread_self());
	syscall(SYS_fsync, fd);
	syscall(SYS_fdatasync, fd);
	syscall(SYS_close,
		syscall(SYS_openat, AT_FDCWD, ct_path("f"), O_RDWR, 0));
	syscall(SYS_close, syscall(SYS_open, ct_path("f"), O_RDWR, 0));
	syscall(SYS_fallocate, fd, 0, 0L, (long)PAGE);
	syscall(SYS_copy_file_range, fd, NULL, fd, NULL, 0L, 0);
	syscall(SYS_msync, map, LEN, MS_SYNC);
	say("C38 by number: made all");
	pthread_testcancel();
	return NULL;
}

static void cancel_by_number(int fd)
{
	pthread_t id;
	void *r;

	pthread_create(&id, NULL, by_number, (void *)(intptr_t)fd);
	pthread_join(id, &r);
	say("C38 by number: cancelled %d", r == PTHREAD_CANCELED);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cancel_in("print before anything is mapped", prints, true);
	cancel_in("write before anything is mapped", writes, true);
	map_others("write before anything is mapped");
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	round_of("read into the map", reads_map, false, fd);
	round_of("read", reads, false, fd);
	round_of("write from the map", writes_map, true, fd);
	round_of("write", writes, true, fd);
	round_of("print", prints, true, fd);
	cancel_by_number(fd);
	return 0;
}
