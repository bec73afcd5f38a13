/* SPDX-License-Identifier: MIT */
/* C106p: another process punches holes into our file, zeroes or collapses a
 * part of it, or writes there, and tells us; we have read the pages, or stored
 * to every third of them. What we see, and store later, is as in one page
 * cache. Without a word it is so a moment later. */
#include "ct.h"
#include "peers.h"

#include <linux/falloc.h>

#define N (5ul << 20) /* some of it is evicted, of a cache of 4 MiB too */
#define FROM (N / 4)
#define LEN (N / 2)

enum { PUNCH, ZERO, COLLAPSE, WRITE, WAYS };
static const char *const names[] = { "punch", "zero", "collapse", "write" };

struct change {
	int way;
	unsigned after_us;
};

static int change(const char *file, int way)
{
	static const int modes[] = {
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE, FALLOC_FL_COLLAPSE_RANGE
	};
	static const char zeros[PAGE];
	int fd = open(file, O_RDWR), r = 0;

	if (way != WRITE)
		r = fallocate(fd, modes[way], FROM, LEN);
	for (size_t off = FROM; way == WRITE && off < FROM + LEN; off += PAGE)
		ct_pwrite(fd, zeros, PAGE, (off_t)off);
	close(fd);
	return r ? errno : 0;
}

/* The other one. */
static void changer(const char *file)
{
	struct change c;

	while (read(3, &c, sizeof(c)) == sizeof(c)) {
		usleep(c.after_us);
		c.way = change(file, c.way);
		if (write(3, &c, sizeof(c)) != sizeof(c))
			_exit(1);
	}
	_exit(0);
}

static int start(const char *self, const char *file)
{
	char *argv[] = { (char *)self, ct_dir, "changer", (char *)file, NULL };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	peer_spawn(argv, s[1], 3, true);
	return s[0];
}

static bool stored(size_t off)
{
	return off / PAGE % 3 == 0;
}

/* What the page at off begins with once the other has done its part. */
static bool is_right(const volatile unsigned char *p, size_t off, int way)
{
	const bool in = off >= FROM && off < FROM + LEN;
	const size_t src = way == COLLAPSE && off >= FROM ? off + LEN : off;

	if (in && way != COLLAPSE)
		return !p[0] && !p[7];
	return p[0] == ct_byte(src) &&
	       p[7] == (stored(src) ? 0x22 : ct_byte(src + 7));
}

static size_t size_after(int way)
{
	return way == COLLAPSE ? N - LEN : N;
}

struct look {
	const char *map;
	int way;
};

static int wrong(void *arg)
{
	const struct look *l = arg;
	int n = 0;

	for (size_t off = 0; off < size_after(l->way); off += PAGE)
		n += !is_right((const unsigned char *)l->map + off, off,
			       l->way);
	return n;
}

static void one(const char *file, int other, int way, bool told)
{
	struct change c = { way, 0 };
	int fd = ct_file("punched", N);
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);
	struct look l = { m, way };
	size_t kept = 0;

	for (size_t off = 0; off < N; off += PAGE) {
		if (stored(off))
			m[off + 7] = 0x22;
		else
			ct_load(m + off);
	}
	if (write(other, &c, sizeof(c)) != sizeof(c))
		ct_die("write");
	if (told && read(other, &c, sizeof(c)) != sizeof(c))
		ct_die("read");
	if (told && c.way) {
		say("C106p %s: %s", names[way], strerrorname_np(c.way));
		goto out;
	}
	say("C106p %s: %d pages wrong%s", names[way],
	    told ? wrong(&l) : !soon(wrong, &l, 0), told ? ", told" : "");
	for (size_t off = 0; off < size_after(way); off += 5 * PAGE)
		m[off + 9] = 0x44;
	munmap(m, N);
	m = ct_map(fd, N, PROT_READ, MAP_PRIVATE, 0);
	l.map = m;
	for (size_t off = 0; off < size_after(way); off += 5 * PAGE)
		kept += m[off + 9] == 0x44;
	say("C106p %s: %d pages wrong in the file, %zu stores kept", names[way],
	    wrong(&l), kept);
	if (!told && read(other, &c, sizeof(c)) != sizeof(c))
		ct_die("read");
out:
	munmap(m, N);
	close(fd);
	unlink(file);
}

int main(int argc, char **argv)
{
	const char *file;
	int other;

	ct_begin(argc, argv);
	if (argc > 3 && !strcmp(argv[2], "changer"))
		changer(argv[3]);
	file = strdup(ct_path("punched"));
	other = start(argv[0], file);
	for (int way = 0; way < WAYS; way++) {
		one(file, other, way, true);
		one(file, other, way, false);
	}
	return 0;
}
