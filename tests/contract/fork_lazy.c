/* SPDX-License-Identifier: MIT */
/* C19, C22: what a child of fork finds, touched by loads, stores, system
 * calls and calls on the address space, each as its first touch. */
#include "peers.h"

#define N (64 * PAGE)

static int fd;
static char *s, *p;

static void fresh(void)
{
	if (s) {
		munmap(s, N);
		munmap(p, N);
		close(fd);
	}
	fd = peer_file("f", N);
	s = ct_map(fd, N, RW, MAP_SHARED, 0);
	p = ct_map(fd, N, RW, MAP_PRIVATE, 0);
	for (size_t i = 0; i < N; i += PAGE)
		s[i + 1] = 0x31;
}

static void first_load(void)
{
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		bad += s[i + 1] != 0x31;
	say("C22 load: missed %d", bad);
}

static void first_store(void)
{
	s[3] = 0x32;
	say("C22 store: %02x", s[3]);
}

static void first_read(void)
{
	unsigned char b = 0;

	say("C22 read(2): %zd %02x", pread(fd, &b, 1, 1), b);
}

static void first_write(void)
{
	ct_pwrite(fd, "\x33", 1, 4);
	say("C22 write(2): %02x", s[4]);
}

static void first_buffer(void)
{
	int q[2];
	char b[8] = { 0 };

	if (pipe(q))
		ct_die("pipe");
	say("C22 buffer of write(2): %zd", write(q[1], s + PAGE, 2));
	say("C22 it wrote: %zd %02x", read(q[0], b, 2), b[1]);
}

static void first_map(void)
{
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);

	say("C22 a new mapping: %02x", m[PAGE + 1]);
	m[5] = 0x34;
	say("C22 the old one sees it: %02x", s[5]);
}

static void first_unmap(void)
{
	say_rc("C22 munmap", munmap(s, N));
	say_load("C22 unmapped", s, 0);
}

static void first_protect(void)
{
	say_rc("C22 mprotect", mprotect(s, N, PROT_READ));
	say_store("C22 protected", s, 6);
	say("C22 readable: %02x", s[1]);
}

static void first_sync(void)
{
	say_rc("C22 msync", msync(s, N, MS_SYNC));
}

static void grandchild(void)
{
	say_child("C22 grandchild", first_store);
	say("C22 the child in between: %02x", s[3]);
}

static void private_copy(void)
{
	say("C22 private: %02x %02x", p[2 * PAGE], p[2 * PAGE + 1]);
	p[3 * PAGE] = 0x3a;
}

static void each_first_touch(void)
{
	static void (*const touch[])(void) = {
		first_load, first_store, first_read, first_write, first_buffer,
		first_map, first_unmap, first_protect, first_sync, grandchild,
	};

	for (size_t i = 0; i < sizeof(touch) / sizeof(*touch); i++) {
		fresh();
		say_child("C22 child", touch[i]);
		say("C22 parent: %02x %02x %02x %02x", s[1], s[3], s[4], s[5]);
		s[7] = (char)i;
		say("C22 in the file: %d", ct_in_file(fd, 7) == (int)i);
	}
}

/* A child that goes on storing while the parent does, to the same file. */
static void both_store(void)
{
	int bad = 0, status;
	pid_t pid;

	fresh();
	pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < N; i += 64)
			s[i + 8] = 0x41;
		_exit(0);
	}
	for (size_t i = 0; i < N; i += 64)
		s[i + 9] = 0x42;
	waitpid(pid, &status, 0);
	for (size_t i = 0; i < N; i += 64)
		bad += s[i + 8] != 0x41 || s[i + 9] != 0x42;
	say("C22 both store, lost: %d", bad);
	for (size_t i = 0; i < N; i += 64)
		bad += ct_in_file(fd, (off_t)i + 9) != 0x42;
	say("C22 in the file, lost: %d", bad);
}

/* The engine goes on after children that only execute. */
static void executes(void)
{
	int status;

	fresh();
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		s[i * (int)PAGE + 10] = (char)i;
		waitpid(pid, &status, 0);
		if (status)
			say("C22 exec: %d", status);
	}
	say("C22 after children that executed: %02x %d", s[1],
	    s[19 * PAGE + 10]);
}

/* The parent ends first; the child's first touch comes after. */
static void orphan(void)
{
	int q[2], r[2];
	char c = 0;
	pid_t pid;

	fresh();
	if (pipe(q) || pipe(r))
		ct_die("pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		s[11] = 0x51;
		if (fork() == 0) {
			close(q[1]);
			if (read(q[0], &c, 1) == 0) /* the middle one is gone */
				c = s[11] == 0x51 && s[1] == 0x31 ? 'y' : 'n';
			if (write(r[1], &c, 1) != 1)
				_exit(1);
			_exit(0);
		}
		close(q[1]);
		kill(getpid(), SIGKILL);
	}
	close(q[1]);
	if (read(r[0], &c, 1) != 1)
		ct_die("orphan");
	say("C22 orphan: %c", c);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	each_first_touch();
	fresh();
	p[2 * PAGE] = 0x39;
	say_child("C22 private", private_copy);
	say("C22 parent's private: %02x %d", p[2 * PAGE],
	    p[3 * PAGE] == (char)ct_byte(3 * PAGE));
	both_store();
	executes();
	orphan();
	return 0;
}
