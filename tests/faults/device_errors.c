/* SPDX-License-Identifier: MIT */
/*
 * device_errors.c - mapped access to a device that is full or fails (C22,
 * C23). faults/run prepares the device, runs this natively and preloaded and
 * compares.
 *
 *   device_errors DIR full     DIR is on a small file system
 *   device_errors DIR read     DIR/bad cannot be read any more
 *   device_errors DIR write    DIR/bad cannot be written any more
 *   device_errors DIR command  DIR is a failing_fs
 */
#include "../contract/ct.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#define SPAN (64ul << 20)

static int fd;
static char *p;

/* Stores to every page of a hole until the kernel says no. */
static size_t fill(void)
{
	size_t i;

	for (i = 0; i < SPAN / PAGE; i++) {
		int r = ct_store(p + i * PAGE + 11, (int)(i % 251) + 1);

		if (!r)
			continue;
		say("C22 no space: %s, si_addr right: %d",
		    r == -SIGBUS ? "SIGBUS" : "another signal",
		    ct_fault_addr == p + i * PAGE + 11);
		break;
	}
	return i;
}

static size_t lost(size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += ct_in_file(fd, (off_t)(i * PAGE + 11)) !=
		       (int)(i % 251) + 1;
	return bad;
}

/* Room was asked for as far as the file reached when its first pages were
 * stored to. It has grown since, by a write. */
static char *grown(void)
{
	int g = open(ct_path("grown"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *q;

	if (g < 0 || ftruncate(g, 100 * PAGE))
		ct_die("grown");
	q = ct_map(g, 300 * PAGE, RW, MAP_SHARED, 0);
	q[0] = q[PAGE] = 1;
	if (pwrite(g, "", 1, 300 * PAGE - 1) != 1)
		ct_die("pwrite");
	close(g);
	return q;
}

static bool refused(char *q, size_t pages)
{
	for (size_t k = 0; k < pages; k++)
		if (ct_store(q + k * PAGE, 1) == -SIGBUS)
			return true;
	return false;
}

static void full(void)
{
	char *g;
	struct statvfs before;
	size_t n, room;
	int ballast =
		open(ct_path("ballast"), O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (ballast < 0 || posix_fallocate(ballast, 0, 4 << 20))
		ct_die("ballast");
	fd = open(ct_path("sparse"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, SPAN))
		ct_die("sparse");
	g = grown();
	statvfs(ct_dir, &before);
	room = before.f_bavail * before.f_frsize / PAGE;
	p = ct_map(fd, SPAN, RW, MAP_SHARED, 0);
	n = fill();
	say("C22 stopped: %d, most of the space was used: %d", n < SPAN / PAGE,
	    n > room / 2 && n <= room + 1024);
	say("C22g refused in what has grown: %d", refused(g + 120 * PAGE, 64));
	munmap(g, 300 * PAGE);
	say("C22 lost before msync: %zu", lost(n));
	say("C22 overwrite: %d", ct_store(p + 11, 1));
	say("C22 overwrite: %d", ct_store(p + n / 2 * PAGE + 12, 7));
	say("C22 overwrite the last: %d", ct_store(p + (n - 1) * PAGE + 12, 7));
	say_rc("C22 msync", msync(p, SPAN, MS_SYNC));
	say("C22 lost after msync: %zu", lost(n));
	say("C22 read of the refused page: %d", ct_load(p + n * PAGE + 11));
	/* msync may have given a few blocks back. */
	say("C22 again: %s",
	    refused(p + (n + 512) * PAGE, 64) ? "SIGBUS" : "accepted");
	close(ballast);
	unlink(ct_path("ballast"));
	sync();
	say("C22 after space was made: %d", ct_store(p + (n + 513) * PAGE, 9));
	say("C22 in the file: %d", ct_in_file(fd, (off_t)((n + 513) * PAGE)));
	munmap(p, SPAN);
	say("C22 lost after munmap: %zu", lost(n));
}

static void read_error(void)
{
	char buf[16];

	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	say_rc("C23 read", pread(fd, buf, sizeof(buf), 64 * 1024));
	say_load("C23 load", p, 64 * 1024);
	say_store("C23 store", p, 128 * 1024 + 5);
	say_load("C23 load again", p, 64 * 1024);
	say_rc("C23 msync", msync(p, 1 << 20, MS_SYNC));
	say_rc("C23 write from it", write(STDERR_FILENO, p + 256 * 1024, 1));
	say_rc("C23 munmap", munmap(p, 1 << 20));
}

static void write_error(void)
{
	int before = open(ct_path("bad"), O_RDWR), after;

	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0 || before < 0)
		ct_die("open");
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	for (int i = 0; i < 16; i++)
		say("C23 store: %d", ct_store(p + i * 4 * PAGE, 0x77));
	say("C23 msync: %s", ct_errno(msync(p, 1 << 20, MS_SYNC) == -1));
	say("C23 data is still readable: %02x %02x", ct_load(p),
	    ct_load(p + 60 * PAGE));
	/* That other pages may be retried is ours; see docs/contract.md. */
	say("C23b fsync of the other descriptor: %s",
	    ct_errno(fsync(before) == -1));
	say("C23c fsync again: %s", ct_errno(fsync(before) == -1));
	after = open(ct_path("bad"), O_RDWR);
	say("C23c fsync of a later descriptor: %s",
	    ct_errno(fsync(after) == -1));
	say("C23 munmap: %s", ct_errno(munmap(p, 1 << 20) == -1));
	say("C23 end");
}

/* Parent and child see each other's stores although nothing can be written. */
static void fork_where_writes_fail(void)
{
	int to[2], from[2], status;
	char c = 0;
	pid_t pid;

	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0 || pipe(to) || pipe(from))
		ct_die("open");
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 32; i++)
		p[i * PAGE] = (char)(0x40 + i);
	pid = fork();
	if (pid == 0) {
		say("F77 child: %02x %02x", ct_load(p), ct_load(p + 31 * PAGE));
		p[40 * PAGE] = 0x22;
		p[PAGE + 1] = 0x23;
		_exit(write(from[1], &c, 1) != 1 || read(to[0], &c, 1) != 1 ||
		      ct_load(p + 50 * PAGE) != 0x24);
	}
	if (read(from[0], &c, 1) != 1)
		ct_die("child");
	say("F77 parent: %02x %02x %02x", ct_load(p + 40 * PAGE),
	    ct_load(p + PAGE + 1), ct_load(p + PAGE));
	p[50 * PAGE] = 0x24;
	if (write(to[1], &c, 1) != 1)
		ct_die("child");
	if (waitpid(pid, &status, 0) != pid)
		ct_die("child");
	say("F77 child saw the last store: %d", status == 0);
}

/* Nobody can write it: the kernel has tried, and keeps in the page cache what
 * it could not write. The program uses calls as well, so that ours goes there,
 * too. */
static void kernel_fails(void)
{
	size_t old = 0, old_call = 0;
	char c;

	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	madvise(p, 1 << 20, MADV_RANDOM);
	if (pread(fd, &c, 1, 0) != 1)
		ct_die("pread");
	for (size_t i = 0; i < 32; i++) /* the page cache does not have them */
		ct_load(p + (i * 7 % 256) * PAGE);
	for (size_t i = 0; i < 64; i++)
		p[(64 + i) * PAGE + 5] = (char)(i + 1);
	for (size_t i = 0; i < 16; i++)
		if (pwrite(fd, "w", 1, (off_t)((160 + i) * PAGE)) != 1)
			ct_die("pwrite");
	for (size_t i = 0; i < 64; i++) /* out of our memory */
		ct_load(p + (192 + i) * PAGE);
	usleep(300000);
	sync();
	for (size_t i = 0; i < 64; i++)
		ct_load(p + i * PAGE);
	for (size_t i = 0; i < 64; i++)
		old += ct_load(p + (64 + i) * PAGE + 5) != (int)i + 1;
	for (size_t i = 0; i < 16; i++)
		old_call += ct_load(p + (160 + i) * PAGE) != 'w';
	say("C23l old after the kernel failed: %zu of 64, %zu of 16", old,
	    old_call);
	say("C23l fsync: %s", ct_errno(fsync(fd) == -1));
	say("C23c msync after the kernel failed: %s",
	    ct_errno(msync(p, 1 << 20, MS_SYNC) == -1));
}

/* ---- failing_fs ---------------------------------------------------------- */

static void command(const char *how)
{
	int c = open(ct_path("control"), O_WRONLY);

	if (c < 0 || write(c, how, strlen(how)) != (ssize_t)strlen(how))
		ct_die("control");
	close(c);
}

/* What the device has, past the page cache. */
static int on_device(off_t off)
{
	static char page[PAGE] __attribute__((aligned(4096)));
	int d = open(ct_path("bad"), O_RDONLY | O_DIRECT);
	ssize_t n = pread(d, page, PAGE, off & ~(off_t)(PAGE - 1));

	close(d);
	return n == (ssize_t)PAGE ? (unsigned char)page[off & (off_t)(PAGE - 1)]
				  : -1;
}

static void reads_fail(void)
{
	char *own = ct_map(fd, 1 << 20, RW, MAP_PRIVATE, 0);

	madvise(own, 1 << 20, MADV_RANDOM);

	own[70 * PAGE + 9] = 0x33;
	own[71 * PAGE + 9] = 0x34;
	own[90 * PAGE] = 0x35;
	/* Whoever serves it, and has read the rest of it meanwhile. */
	madvise(p + 96 * PAGE, 160 * PAGE, MADV_DONTNEED);
	posix_fadvise(fd, 96 * PAGE, 160 * PAGE, POSIX_FADV_DONTNEED);
	command("read");
	say_load("C23 load", p, 100 * PAGE);
	say_store("C23 store", p, 102 * PAGE + 3);
	say_load("C23e what is there", p, 7);
	say("C23 own pages: %02x %02x %02x", ct_load(own + 70 * PAGE + 9),
	    ct_load(own + 71 * PAGE + 9), ct_load(own + 90 * PAGE));
	command("none");
	say("C23 own pages: %02x %02x %d %d", ct_load(own + 70 * PAGE + 9),
	    ct_load(own + 71 * PAGE + 9),
	    ct_matches(own + 71 * PAGE + 10, 100, 71 * PAGE + 10),
	    ct_matches(own + 72 * PAGE, 8 * PAGE, 72 * PAGE));
	say_rc("C23 munmap", munmap(own, 1 << 20));
	say("C23 load when it reads again: %d",
	    ct_matches(p + 100 * PAGE, PAGE, 100 * PAGE));
	say_store("C23 store when it reads again", p, 102 * PAGE + 3);
	say_rc("C23 msync", msync(p, 1 << 20, MS_SYNC));
}

/* Nothing can be stored to it: one page that cannot be read costs no other. */
static void reads_fail_read_only(void)
{
	int r = open(ct_path("bad"), O_RDONLY);
	char *q = ct_map(r, 1 << 20, PROT_READ, MAP_SHARED, 0);
	char *own = ct_map(r, 1 << 20, RW, MAP_PRIVATE, 0);

	madvise(q, 1 << 20, MADV_RANDOM);
	madvise(own, 1 << 20, MADV_RANDOM);
	say("C23g before: %d", ct_matches(q, 4 * PAGE, 0));
	say_store("C23g store", own, 2 * PAGE);
	command("read");
	say_load("C23g load", q, 60 * PAGE);
	say_load("C23g load", q, 62 * PAGE);
	say_store("C23g store", own, 64 * PAGE);
	say_rc("C23g write from it", write(STDERR_FILENO, q + 66 * PAGE, 1));
	say("C23g there still: %02x %02x", ct_load(q + 3 * PAGE),
	    ct_load(own + 2 * PAGE));
	command("none");
	say("C23g when it reads again: %d %d %d", ct_matches(q, 1 << 20, 0),
	    ct_matches(own + 60 * PAGE, 4 * PAGE, 60 * PAGE),
	    ct_load(own + 2 * PAGE));
	say_store("C23g store when it reads again", own, 64 * PAGE);
	say("C23g stored: %02x", ct_load(own + 64 * PAGE));
	say_rc("C23g munmap", munmap(q, 1 << 20));
	say_rc("C23g munmap", munmap(own, 1 << 20));
	posix_fadvise(r, 0, 0, POSIX_FADV_DONTNEED);
	close(r);
}

/* A store that finds no room has what was freed committed: of an error that
 * comes with it msync still hears. That the store is refused is ours. */
static void commit_fails(void)
{
	int h = open(ct_path("holes"), O_RDWR);
	char *q = ct_map(h, 1 << 20, RW, MAP_SHARED, 0);
	int told;

	ct_load(q + 8 * PAGE);
	command("commit");
	ct_store(q + 30 * PAGE, ct_byte(30 * PAGE));
	told = msync(q, 1 << 20, MS_SYNC) == -1 ? errno : 0;
	if (!told) /* by threads the kernel has the file by now */
		told = fsync(h) == -1 ? errno : 0;
	say("C23m msync or fsync: %s", strerrorname_np(told));
	say("C23m again: %s", ct_errno(msync(q, 1 << 20, MS_SYNC) == -1));
	say("C23m again: %s", ct_errno(fsync(h) == -1));
	command("none");
	munmap(q, 1 << 20);
	close(h);
}

/* The page that is cut lies before the new end up to there. */
static void cut_while_writes_fail(void)
{
	int g = open(ct_path("bad"), O_RDWR);
	struct stat st;
	bool cut;

	if (g < 0 || fstat(g, &st))
		ct_die("open");
	command("write");
	p[(1 << 20) - 3 * PAGE + 9] = 0x4d;
	cut = !ftruncate(g, (1 << 20) - 3 * PAGE + 100);
	say("C23i before the end: %02x", ct_load(p + (1 << 20) - 3 * PAGE + 9));
	command("none");
	say("C23 cut when it writes again: %d",
	    cut || !ftruncate(g, (1 << 20) - 3 * PAGE + 100));
	say_rc("C23c msync after the cut", msync(p, 1 << 20, MS_SYNC));
	say("C23i in the file: %02x", ct_in_file(g, (1 << 20) - 3 * PAGE + 9));
	if (ftruncate(g, st.st_size))
		ct_die("ftruncate");
	close(g);
}

static void writes_fail(const char *how, uint64_t at)
{
	char c;

	/* first: it is word, before which dirty pages are written */
	command(how);
	for (uint64_t i = 0; i < 8; i++)
		p[at + i * 2 * PAGE] = 0x5a;
	say("C23 %s: msync: %s", how,
	    ct_errno(msync(p, 1 << 20, MS_SYNC) == -1));
	say("C23 %s: readable: %02x %02x", how, p[at], p[at + 14 * PAGE]);
	say("C23f %s: by read: %02x", how, ct_in_file(fd, (off_t)at));
	say("C23h %s: a read says no space: %d", how,
	    pread(fd, &c, 1, (off_t)at) < 0 && errno == ENOSPC);
	p[at + PAGE] = 0x5b;
	say("C23 %s: fsync: %s", how, ct_errno(fsync(fd) == -1));
	command("none");
	say("C23 %s: store: %d", how, ct_store(p + at + 2, 0x5c));
	say_rc("C23 msync when it writes again", msync(p, 1 << 20, MS_SYNC));
	say("C23d %s: kept and written: %d", how,
	    on_device((off_t)at) == 0x5a && on_device((off_t)at + 2) == 0x5c &&
	    on_device((off_t)(at + 14 * PAGE)) == 0x5a &&
	    on_device((off_t)(at + PAGE)) == 0x5b);
}

/* What cannot be written goes with the mapping, whatever the reason. */
static void gone_with_it(const char *how)
{
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	command(how);
	p[140 * PAGE] = 0x63;
	say("C23n %s: munmap: %s", how, ct_errno(munmap(p, 1 << 20) == -1));
	fsync(fd);
	fsync(fd);
	command("none");
}

/* Direct writes are refused, those through the page cache are not. */
static void direct_refused(void)
{
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	ct_load(p + 150 * PAGE);
	command("direct");
	for (int i = 150; i < 170; i++)
		p[i * PAGE] = 0x64;
	say_rc("C23o msync", msync(p, 1 << 20, MS_SYNC));
	say_rc("C23o fsync", fsync(fd));
	say("C23o in the file: %02x %02x", on_device(150 * PAGE),
	    on_device(169 * PAGE));
	say_rc("C23o munmap", munmap(p, 1 << 20));
	command("none");
}

/* The last mapping has gone, and what could not be written with it. */
static void said_later(void)
{
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	command("write");
	p[130 * PAGE] = 0x61;
	munmap(p, 1 << 20);
	say("C81 fsync after munmap: %s", ct_errno(fsync(fd) == -1));
	say("C81 fsync again: %s", ct_errno(fsync(fd) == -1));
	command("none");
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	p[130 * PAGE] = 0x62;
	say("C81 msync when it writes again: %s",
	    ct_errno(msync(p, 1 << 20, MS_SYNC) == -1));
	munmap(p, 1 << 20);
}

/* Another process has used the file meanwhile: our copies may be old, but not
 * those that cannot be written. */
static void refused_and_used(void)
{
	int status;
	pid_t pid;

	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	command("write");
	p[200 * PAGE] = 0x71;
	pid = fork();
	if (pid == 0)
		_exit(ct_load(p + 210 * PAGE) < 0);
	if (waitpid(pid, &status, 0) != pid)
		ct_die("child");
	usleep(300000);
	say("F78 child: %d, our store: %02x", status, ct_load(p + 200 * PAGE));
	command("none");
	p[201 * PAGE] = 0x72;
	say_rc("F78 msync", msync(p, 1 << 20, MS_SYNC));
	say("F78 both: %02x %02x", ct_load(p + 200 * PAGE),
	    ct_load(p + 201 * PAGE));
	munmap(p, 1 << 20);
}

/* As on a network whose server no longer has the file, and then again has. */
static void stale(void)
{
	char c;

	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	madvise(p, 1 << 20, MADV_RANDOM);
	say("C23u before: %d", ct_matches(p + 20 * PAGE, 2 * PAGE, 20 * PAGE));
	posix_fadvise(fd, 210 * PAGE, 0, POSIX_FADV_DONTNEED);
	command("stale");
	say_load("C23u load", p, 220 * PAGE);
	say_store("C23u store", p, 222 * PAGE);
	say("C23u pread: %s", ct_errno(pread(fd, &c, 1, 224 * PAGE) == -1));
	say("C23e there still: %02x %02x", ct_load(p + 20 * PAGE),
	    ct_load(p + 21 * PAGE));
	say("C23e store there: %d", ct_store(p + 20 * PAGE, 0x66));
	say("C23u msync: %s", ct_errno(msync(p, 1 << 20, MS_SYNC) == -1));
	command("none");
	say("C23u back: %d", ct_matches(p + 220 * PAGE, PAGE, 220 * PAGE));
	say_store("C23u store when it is back", p, 222 * PAGE);
	p[20 * PAGE] = 0x67;
	say_rc("C23u msync", msync(p, 1 << 20, MS_SYNC));
	say("C23u in the file: %02x", on_device(20 * PAGE));
	say_rc("C23u munmap", munmap(p, 1 << 20));
}

static void on_command(void)
{
	commit_fails();
	reads_fail_read_only();
	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	said_later();
	gone_with_it("write");
	gone_with_it("denied");
	gone_with_it("big");
	direct_refused();
	p = ct_map(fd, 1 << 20, RW, MAP_SHARED, 0);
	madvise(p, 1 << 20, MADV_RANDOM);
	say("C23 before: %d", ct_matches(p, 4 * PAGE, 0));
	writes_fail("write", 128 * PAGE);
	writes_fail("space", 192 * PAGE);
	cut_while_writes_fail();
	reads_fail();
	say_rc("C23 munmap", munmap(p, 1 << 20));
	say("C23d in the file: %d", on_device(192 * PAGE) == 0x5a);
	refused_and_used();
	stale();
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "full"))
		full();
	else if (!strcmp(argv[2], "read"))
		read_error();
	else if (!strcmp(argv[2], "command"))
		on_command();
	else if (!strcmp(argv[2], "late"))
		kernel_fails();
	else if (!strcmp(argv[2], "fork"))
		fork_where_writes_fail();
	else
		write_error();
	return 0;
}
