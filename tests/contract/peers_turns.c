/* SPDX-License-Identifier: MIT */
/*
 * C44: another process writes to our file by write(2) and closes it, and then
 * lets us go on: by its end, or by a lock that we take. What it wrote is there
 * at once, and stays when we store beside it.
 */
#include "peers.h"

#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGES 64
#define WAYS 8
#define ROUNDS 96
#define RISING 256ul

static const char *self, *path;

/* The other process: one byte. */
static void write_role(int argc, char **argv)
{
	int fd;

	if (argc < 6 || strcmp(argv[2], "write"))
		return;
	fd = open(argv[3], O_WRONLY);
	if (fd < 0 || pwrite(fd, argv[5], 1, atol(argv[4])) != 1)
		_exit(1);
	close(fd);
	_exit(0);
}

static pid_t start(size_t off, bool native, int *ret_end)
{
	char at[32], *argv[] = { (char *)self, ct_dir, "write", (char *)path,
				 at, "Z", NULL };
	int p[2];
	pid_t pid;

	snprintf(at, sizeof(at), "%zu", off);
	if (pipe2(p, O_CLOEXEC))
		ct_die("pipe");
	pid = peer_spawn(argv, p[1], 60, native);
	*ret_end = p[0];
	return pid;
}

static void run_by_system(size_t off, bool native)
{
	char line[8192];

	snprintf(line, sizeof(line), "%s'%s' '%s' write '%s' %zu Z",
		 native ? "env -i " : "", self, ct_dir, path, off);
	if (system(line))
		ct_die("system");
}

static void lock_by_fcntl(int fd, int cmd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			   .l_start = 1 << 30, .l_len = 1 };

	if (fcntl(fd, cmd, &l))
		ct_die("fcntl");
	l.l_type = F_UNLCK;
	fcntl(fd, cmd, &l);
}

/* When all descriptors of the other one are closed. */
static void take_lock(int fd, int way, int end)
{
	char c;

	if (read(end, &c, 1) != 0)
		ct_die("pipe");
	if (way == 3)
		lock_by_fcntl(fd, F_SETLKW);
	else if (way == 4)
		lock_by_fcntl(fd, F_OFD_SETLK);
	else if (way == 5 ? flock(fd, LOCK_SH) : lockf(fd, F_LOCK, 1))
		ct_die("lock");
}

static void turn(int fd, int way, size_t off, bool native)
{
	siginfo_t si;
	pid_t pid;
	int end;

	if (way == 7) {
		run_by_system(off, native);
		return;
	}
	pid = start(off, native, &end);
	if (way == 0)
		waitpid(pid, NULL, 0);
	else if (way == 1)
		wait4(pid, NULL, 0, NULL);
	else if (way == 2)
		waitid(P_PID, (id_t)pid, &si, WEXITED);
	else
		take_lock(fd, way, end);
	if (way > 2)
		ct_raw(SYS_wait4, pid, 0, 0, 0);
	close(end);
}

static void rounds(bool stores)
{
	int fd = peer_file("f", PAGES * PAGE), stale = 0, lost = 0;
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < ROUNDS; i++) {
		size_t off = (size_t)(i % PAGES) * PAGE + 100 + (size_t)i;

		ct_pwrite(fd, "a", 1, (off_t)off);
		m[off + 1000] = 1;
		turn(fd, i % WAYS, off, i / WAYS % 2);
		if (stores)
			m[off + 2000] = 2;
		stale += m[off] != 'Z';
	}
	for (int i = 0; i < ROUNDS; i++)
		lost += m[(size_t)(i % PAGES) * PAGE + 100 + (size_t)i] != 'Z';
	munmap((void *)m, PAGES * PAGE);
	for (int i = 0; i < ROUNDS; i++)
		lost += ct_in_file(fd, (size_t)(i % PAGES) * PAGE + 100 +
					       (size_t)i) != 'Z';
	say("C44 %s: stale %d, lost %d", stores ? "stores" : "looks", stale,
	    lost);
	close(fd);
}

/* Page after page of a new file, which is read ahead: a fault that a thread of
 * the library serves late must not count as another store. */
static void rising(void)
{
	int fd = open(path, O_RDWR | O_TRUNC), lost = 0;
	volatile char *m;

	if (fd < 0 || ftruncate(fd, RISING * PAGE))
		ct_die("ftruncate");
	m = ct_map(fd, RISING * PAGE, RW, MAP_SHARED, 0);
	for (size_t off = 0; off < RISING * PAGE; off += PAGE) {
		m[off + 5] = 1;
		turn(fd, 0, off + 1000, true);
		m[off + 6] = 2;
	}
	for (size_t off = 0; off < RISING * PAGE; off += PAGE)
		lost += m[off + 1000] != 'Z';
	say("C44 rising: lost %d", lost);
	munmap((void *)m, RISING * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	write_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	rounds(false);
	rounds(true);
	rising();
	return 0;
}
