/* SPDX-License-Identifier: MIT */
/* Y01-Y09, Y11: msync. */
#include "ct.h"

#include <dirent.h>
#include <sys/syscall.h>

static int fd;
static char *p;

static void arguments(void)
{
	char *anon =
		mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro = ct_map(fd, 4 * PAGE, PROT_READ, MAP_SHARED, 0);
	char *priv = ct_map(fd, 4 * PAGE, RW, MAP_PRIVATE, 0);

	say_rc("Y01 sync", msync(p, 4 * PAGE, MS_SYNC));
	say_rc("Y01 async", msync(p, 4 * PAGE, MS_ASYNC));
	say_rc("Y01 0", msync(p, 4 * PAGE, 0));
	say_rc("Y01 invalidate", msync(p, 4 * PAGE, MS_INVALIDATE));
	say_rc("Y01 sync invalidate",
	       msync(p, 4 * PAGE, MS_SYNC | MS_INVALIDATE));
	say_rc("Y02 sync and async", msync(p, PAGE, MS_SYNC | MS_ASYNC));
	say_rc("Y02 unknown bit", msync(p, PAGE, 0x100 | MS_SYNC));
	say_rc("Y02 unaligned", msync(p + 1, PAGE, MS_SYNC));
	say_rc("Y03 length unaligned", msync(p, 100, MS_SYNC));
	say_rc("Y03 length 0", msync(p, 0, MS_SYNC));
	say_rc("Y03 length 0 at NULL", msync(NULL, 0, MS_SYNC));
	say_rc("Y03 length wraps", msync(p, -1ul, MS_SYNC));
	say_rc("Y03 length wraps above", msync(p, -PAGE, MS_SYNC));
	say_rc("Y06 read-only", msync(ro, 4 * PAGE, MS_SYNC));
	priv[0] = 1;
	say_rc("Y06 private", msync(priv, 4 * PAGE, MS_SYNC));
	say_rc("Y06 anonymous", msync(anon, 4 * PAGE, MS_SYNC));
	munmap(anon, 4 * PAGE);
	munmap(ro, 4 * PAGE);
	munmap(priv, 4 * PAGE);
}

static int direct_byte(off_t off)
{
	static char *buf;
	int d = open(ct_path("f"), O_RDONLY | O_DIRECT);

	if (!buf)
		buf = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d < 0)
		d = open(ct_path("f"), O_RDONLY);
	if (pread(d, buf, PAGE, off & ~(off_t)(PAGE - 1)) < 0)
		ct_die("pread");
	close(d);
	return (unsigned char)buf[off & (off_t)(PAGE - 1)];
}

/* In a process that never heard of the mapping. */
static void direct_child(void)
{
	say("Y07 another process reads directly: %02x %02x %02x",
	    direct_byte(20 * PAGE), direct_byte(31 * PAGE),
	    direct_byte(40 * PAGE));
}

static void holes(void)
{
	(void)direct_byte(0); /* its buffer must not land in the hole below */
	p[10 * PAGE] = 0x41;
	p[12 * PAGE] = 0x42;
	munmap(p + 11 * PAGE, PAGE);
	say_rc("Y04 hole", msync(p + 10 * PAGE, 3 * PAGE, MS_SYNC));
	say("Y04 both sides synced: %02x %02x", direct_byte(10 * PAGE),
	    direct_byte(12 * PAGE));
	say_rc("Y04 unmapped", msync(p + 11 * PAGE, PAGE, MS_SYNC));
	say_rc("Y04 unmapped async", msync(p + 11 * PAGE, PAGE, MS_ASYNC));
	if (mlock(p + 14 * PAGE, PAGE))
		say("Y05 mlock: %s", strerrorname_np(errno));
	say_rc("Y05 invalidate locked",
	       msync(p + 13 * PAGE, 3 * PAGE, MS_INVALIDATE));
	say_rc("Y05 sync locked", msync(p + 13 * PAGE, 3 * PAGE, MS_SYNC));
	munlock(p + 14 * PAGE, PAGE);
	say_rc("Y05 invalidate unlocked",
	       msync(p + 13 * PAGE, 3 * PAGE, MS_INVALIDATE));
}

static void durable(void)
{
	for (int i = 20; i <= 40; i++)
		p[i * (int)PAGE] = (char)i;
	say_rc("Y07 sync", msync(p + 20 * PAGE, 21 * PAGE, MS_SYNC));
	say("Y07 direct read: %02x %02x", direct_byte(20 * PAGE),
	    direct_byte(40 * PAGE));
	say_child("Y07", direct_child);
	p[20 * PAGE] = 0x51;
	p[31 * PAGE] = 0x52;
	p[40 * PAGE] = 0x53;
	say("Y07 fsync: %s", ct_errno(fsync(fd)));
	say_child("Y07", direct_child);
	p[20 * PAGE] = 0x54;
	say("Y07 fdatasync: %s", ct_errno(fdatasync(fd)));
	say_child("Y07", direct_child);
}

static void times(void)
{
	struct stat a, b, c, d;
	int f = ct_file("times", 4 * PAGE);
	char *q = ct_map(f, 4 * PAGE, RW, MAP_SHARED, 0);
	struct timespec past[2] = { { 1000, 0 }, { 1000, 0 } };

	fsync(f);
	futimens(f, past);
	fstat(f, &a);
	q[0] = 1;
	msync(q, 4 * PAGE, MS_SYNC);
	fstat(f, &b);
	say("Y08 mtime moved by store and msync: %d", b.st_mtime != a.st_mtime);
	futimens(f, past);
	msync(q, 4 * PAGE, MS_SYNC);
	fstat(f, &c);
	say("Y08 msync without a store leaves it: %d", c.st_mtime == 1000);
	q[1] = 2;
	msync(q, 4 * PAGE, MS_SYNC);
	fstat(f, &d);
	say("Y08 store after msync moves it: %d", d.st_mtime != 1000);
	futimens(f, past);
	(void)*(volatile char *)(q + PAGE);
	msync(q, 4 * PAGE, MS_SYNC);
	fstat(f, &d);
	say("Y08 load leaves it: %d", d.st_mtime == 1000);
	q[2 * PAGE] = 3;
	munmap(q, 4 * PAGE);
	close(f);
	f = open(ct_path("times"), O_RDONLY);
	fstat(f, &d);
	say("Y08 store, munmap, close moves it: %d", d.st_mtime != 1000);
	close(f);
}

/* Past every hook: a hooked read would write back first. */
static int raw_byte(int f, off_t off)
{
	char c = -1;

	return ct_raw(SYS_pread64, f, (long)&c, 1, off) == 1 ? c : -1;
}

/* One range that has become many mappings. */
static void pieces(void)
{
	const int n = 300;
	int f = ct_file("pieces", n * PAGE), missing = 0;
	char *q = ct_map(f, n * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < n; i += 2)
		mprotect(q + i * PAGE, PAGE, PROT_READ);
	for (int i = 1; i < n; i += 2)
		q[i * PAGE] = 0;
	say_rc("Y09 sync", msync(q, n * PAGE, MS_SYNC));
	for (int i = 1; i < n; i += 2)
		missing += raw_byte(f, i * (off_t)PAGE) != 0;
	say("Y09 missing in the file: %d", missing);
	munmap(q, n * PAGE);
	close(f);
}

/* How often the thread that writes back has gone to sleep; natively nobody. */
static long sleeps_of(const char *tid)
{
	char name[300], line[128];
	bool it = false;
	long n = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%s/status", tid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		it |= !strcmp(line, "Name:\tfastmap-wb\n");
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	}
	if (f)
		fclose(f);
	return it ? n : 0;
}

static long sleeps(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	long n = 0;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			n += sleeps_of(d->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* The kernel begins nothing by it: nor is that thread woken each time. */
static bool is_quiet(char *page)
{
	const int rounds = 2000;
	long before;

	msync(page, PAGE, MS_SYNC); /* what it still has to do is over */
	*page = 1;
	before = sleeps();
	for (int i = 0; i < rounds; i++) {
		*page = (char)i;
		msync(page, PAGE, MS_ASYNC);
	}
	return sleeps() - before < rounds / 100;
}

/* It has other reasons to wake up, now and then (a cache of a few pages is full
 * of dirty ones): most series must be quiet. */
static void async(void)
{
	const int series = 9;
	int f = ct_file("async", 64 * PAGE), quiet = 0;
	char *q = ct_map(f, 64 * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < series; i++)
		quiet += is_quiet(q + 50 * PAGE);
	say("Y11 async wakes nobody: %d", quiet > series / 2);
	munmap(q, 64 * PAGE);
	close(f);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", 64 * PAGE);
	p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	arguments();
	holes();
	durable();
	times();
	pieces();
	async();
	return 0;
}
