/* SPDX-License-Identifier: MIT */
/* U19: a file is mapped privately, read, unmapped, and mapped again, while
 * another process, and the program itself, change it in between. What a private
 * mapping was stored to is nowhere else; what the file is now is in each.
 *
 * Who maps is spawned first and has no children: what a mapping held may be
 * kept. The first process is the other one, without the library. */
#include "ct.h"
#include "peers.h"

#include <sys/wait.h>

#define N (256 * PAGE) /* as little as is kept */
#define MOST 64 /* bytes written at once */

struct change {
	char what; /* w write, t truncate, m store through a mapping,
		    * h hole, n another file of that name */
	off_t at;
	unsigned char value;
};

static const char *file;
static unsigned char want[N];
static size_t size = N; /* of the file */

/* ---- the other process ------------------------------------------------- */

static void other_map(int fd, const struct change *c)
{
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);

	memset(m + c->at, c->value, MOST);
	munmap(m, N);
}

static void other_new(unsigned char value)
{
	char name[3100], buf[PAGE];
	int fd;

	memset(buf, value, PAGE);
	snprintf(name, sizeof(name), "%s.new", file);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (size_t at = 0; at < N; at += PAGE)
		ct_pwrite(fd, buf, PAGE, (off_t)at);
	close(fd);
	if (rename(name, file))
		ct_die("rename");
}

static void other_change(const struct change *c)
{
	unsigned char buf[MOST];
	int fd = open(file, O_RDWR);

	memset(buf, c->value, MOST);
	if (c->what == 'w')
		ct_pwrite(fd, buf, MOST, c->at);
	else if (c->what == 't' && ftruncate(fd, c->at))
		ct_die("ftruncate");
	else if (c->what == 'm')
		other_map(fd, c);
	else if (c->what == 'h' &&
		 fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   c->at, PAGE))
		ct_die("fallocate");
	close(fd);
	if (c->what == 'n')
		other_new(c->value);
}

static int other(int sock, pid_t pid)
{
	struct change c;
	int status;

	while (recv(sock, &c, sizeof(c), 0) == sizeof(c)) {
		other_change(&c);
		if (send(sock, &c, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	waitpid(pid, &status, 0);
	return status;
}

static void foreign(struct change c)
{
	if (send(3, &c, sizeof(c), 0) != sizeof(c) || recv(3, &c, 1, 0) != 1)
		ct_die("other");
	if (c.what == 't') {
		if ((size_t)c.at < size)
			memset(want + c.at, 0, N - (size_t)c.at);
		size = (size_t)c.at;
	} else if (c.what == 'n') {
		memset(want, c.value, N);
	} else {
		memset(want + c.at, c.what == 'h' ? 0 : c.value,
		       c.what == 'h' ? PAGE : MOST);
	}
}

/* ---- who maps ---------------------------------------------------------- */

static char *map(int prot, int flags)
{
	int fd = open(file, prot & PROT_WRITE && flags & MAP_SHARED ?
			    O_RDWR : O_RDONLY);
	char *m = ct_map(fd, N, prot, flags, 0);

	close(fd);
	return m;
}

/* How many pages are not the file's. */
static int wrong(const char *m)
{
	int bad = 0;

	for (size_t at = 0; at < N; at += PAGE)
		if (at < size)
			bad += !!memcmp(m + at, want + at, PAGE);
		else
			bad += ct_load(m + at) != -SIGBUS;
	return bad;
}

static void look(const char *what)
{
	int n[3];

	for (int k = 0; k < 3; k++) {
		char *m = map(PROT_READ, k == 2 ? MAP_SHARED : MAP_PRIVATE);

		n[k] = wrong(m);
		munmap(m, N);
	}
	say("U19 %s: wrong %d, again %d, shared %d", what, n[0], n[1], n[2]);
}

static void own_stores(void)
{
	char *m = map(RW, MAP_PRIVATE);

	say("U19 before stores: wrong %d", wrong(m));
	m[3 * PAGE + 7] ^= 0x7f;
	m[200 * PAGE] ^= 0x7f;
	munmap(m, N);
	look("after stores");

	m = map(RW, MAP_PRIVATE);
	m[9 * PAGE] ^= 0x7f;
	madvise(m + 9 * PAGE, PAGE, MADV_DONTNEED);
	say("U19 dropped: wrong %d", wrong(m));
	munmap(m, N);
	look("after stores that were dropped");

	m = map(PROT_READ, MAP_PRIVATE);
	say("U19 read only: wrong %d", wrong(m));
	mprotect(m, N, RW);
	m[11 * PAGE] ^= 0x7f;
	mprotect(m, N, PROT_READ);
	munmap(m, N);
	look("after stores that mprotect had allowed");
}

/* By the kernel, for the program. Not every way in is one that we see. */
static void kernel_stores(void)
{
	char *m = map(RW, MAP_PRIVATE), b = 0x55;
	int fd = open(file, O_RDONLY), mem = open("/proc/self/mem", O_RDWR);

	say("U19 before read: wrong %d", wrong(m));
	say_rc("U19 read", pread(fd, m + 5 * PAGE, 2 * PAGE, 20 * PAGE) < 0);
	munmap(m, N);
	close(fd);
	look("after read into it");

	m = map(PROT_READ, MAP_PRIVATE);
	wrong(m);
	(void)!pwrite(mem, &b, 1, (off_t)(uintptr_t)(m + 5 * PAGE));
	munmap(m, N);
	close(mem);
	look("after a store by /proc/self/mem");
}

static void in_parts(void)
{
	char *m = map(PROT_READ, MAP_PRIVATE);

	wrong(m);
	mprotect(m + 64 * PAGE, 64 * PAGE, PROT_NONE);
	munmap(m, N);
	look("after mprotect of a part");
	m = map(PROT_READ, MAP_PRIVATE);
	wrong(m);
	munmap(m + 64 * PAGE, 64 * PAGE);
	munmap(m, N);
	look("after two unmaps");
}

static void by_another(void)
{
	look("first");
	foreign((struct change){ 'w', 17 * PAGE + 5, 0x31 });
	look("after a write");
	foreign((struct change){ 'm', 18 * PAGE + 5, 0x32 });
	look("after a store");
	foreign((struct change){ 'h', 19 * PAGE, 0 });
	look("after a hole");
	foreign((struct change){ 't', N / 2 + 123, 0 });
	look("after a cut");
	foreign((struct change){ 't', N, 0 });
	look("grown again");
	foreign((struct change){ 'n', 0, 0x41 });
	look("another file");
}

static void own_shared(void)
{
	char *m = map(RW, MAP_SHARED);

	m[23 * PAGE] = 0x51;
	munmap(m, N);
	want[23 * PAGE] = 0x51;
	look("after an own shared store");
}

static void by_itself(void)
{
	int fd = open(file, O_RDWR);

	ct_pwrite(fd, "abcd", 4, 21 * PAGE);
	memcpy(want + 21 * PAGE, "abcd", 4);
	look("after an own write");
	if (ftruncate(fd, 22 * PAGE + 9) || ftruncate(fd, N))
		ct_die("ftruncate");
	memset(want + 22 * PAGE + 9, 0, N - 22 * PAGE - 9);
	look("after an own cut");
	close(fd);
	own_shared();
}

static void over_it(void)
{
	const int fixed = MAP_FIXED | MAP_PRIVATE;
	char *m = map(PROT_READ, MAP_PRIVATE), *p;
	int fd = open(file, O_RDONLY);

	wrong(m);
	p = mmap(m, N, RW, fixed | MAP_ANONYMOUS, -1, 0);
	say("U19 over it: %d %d", p == m, ct_zero(p, N));
	munmap(m, N);
	look("after MAP_FIXED over it");
	p = mmap(m, N, RW, fixed | MAP_ANONYMOUS, -1, 0);
	say("U19 where it was: %d %d", p == m, ct_zero(p, N));
	p = mmap(m, N, RW, fixed, fd, 0);
	say("U19 there again: %d, wrong %d", p == m, wrong(p));
	p[1] ^= 0x7f;
	munmap(m, N);
	close(fd);
	look("after stores there");
}

static void child(void)
{
	char *m = map(RW, MAP_PRIVATE);

	say("U19 child: wrong %d", wrong(m));
	m[2 * PAGE] ^= 0x7f;
	munmap(m, N);
	look("child after stores");
	own_shared();
}

static void across_fork(void)
{
	look("before a fork");
	want[23 * PAGE] = 0x51;
	say_child("U19 child", child);
	look("after a fork");
}

static int who_maps(void)
{
	for (size_t i = 0; i < N; i++)
		want[i] = ct_byte(i);
	by_another();
	own_stores();
	kernel_stores();
	in_parts();
	by_itself();
	over_it();
	across_fork();
	return 0;
}

int main(int argc, char **argv)
{
	char *mapper[] = { argv[0], ct_dir, (char *)"maps", NULL };
	char number[2][16], *changer[] = { argv[0], ct_dir, (char *)"other",
					   number[0], number[1], NULL };
	char *none[] = { NULL };
	int s[2];

	ct_begin(argc, argv);
	file = strdup(ct_path("again"));
	if (argc > 2 && !strcmp(argv[2], "maps"))
		return who_maps();
	if (argc > 4)
		return other(atoi(argv[3]), atoi(argv[4]));
	close(ct_file("again", N));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s))
		ct_die("socketpair");
	fcntl(s[0], F_SETFD, FD_CLOEXEC);
	s[0] = fcntl(s[0], F_DUPFD, 10);
	fcntl(s[0], F_SETFD, FD_CLOEXEC);
	snprintf(number[1], 16, "%d", (int)peer_spawn(mapper, s[1], 3, false));
	snprintf(number[0], 16, "%d", s[0]);
	fcntl(s[0], F_SETFD, 0);
	execve(argv[0], changer, none);
	ct_die("execve");
}
