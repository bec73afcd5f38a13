/* SPDX-License-Identifier: MIT */
/* C106: another process cuts the file by its name, to nothing or within a page,
 * while we store to every third page: its size stays what the other made it,
 * and when it grows again there are no old bytes. */
#include "ct.h"
#include "peers.h"

#include <time.h>

#define N (32ul << 20)
#define ROUNDS ct_rounds(9, 60)
#define LONGEST_US 30000

static sigjmp_buf jump;
static unsigned seed;

static void on_bus(int sig)
{
	siglongjmp(jump, sig);
}

struct cut {
	unsigned after_us;
	off_t to;
};

/* The other one: cuts whenever it is told to. */
static void cutter(const char *file)
{
	struct cut c;

	while (read(3, &c, sizeof(c)) == sizeof(c)) {
		usleep(c.after_us);
		if (truncate(file, c.to))
			_exit(1);
		if (write(3, &c, 1) != 1)
			_exit(2);
	}
	_exit(0);
}

static int start(const char *self, const char *file)
{
	char *argv[] = { (char *)self, ct_dir, "cutter", (char *)file, NULL };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	peer_spawn(argv, s[1], 3, true);
	return s[0];
}

static int fresh(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || posix_fallocate(fd, 0, N))
		ct_die("fresh");
	ct_uncache(fd);
	return fd;
}

/* Until it is cut, or the time is over. */
static void store(char *m)
{
	time_t until = time(NULL) + 2;
	volatile size_t off;

	if (sigsetjmp(jump, 1))
		return;
	while (time(NULL) < until)
		for (off = 0; off < N; off += PAGE) {
			volatile char *p = m + off;

			if (off / PAGE % 3 == 0)
				*p = 1;
			else
				(void)*p;
		}
}

static bool is_zero_from(int fd, off_t from)
{
	static char buf[1 << 20];
	ssize_t n;

	if (ftruncate(fd, N))
		ct_die("ftruncate");
	while ((n = pread(fd, buf, sizeof(buf), from)) > 0) {
		if (!ct_zero(buf, (size_t)n))
			return false;
		from += n;
	}
	return true;
}

static bool one_round(const char *file, int other, off_t to)
{
	struct cut c = { (unsigned)rand_r(&seed) % LONGEST_US, to };
	int fd = fresh(file);
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);
	struct stat st;
	bool ok;

	if (write(other, &c, sizeof(c)) != sizeof(c))
		ct_die("write");
	store(m);
	if (read(other, &c, 1) != 1)
		ct_die("read");
	usleep(20000);
	munmap(m, N);
	ok = !fstat(fd, &st) && st.st_size == to && is_zero_from(fd, to);
	close(fd);
	return ok;
}

int main(int argc, char **argv)
{
	static const off_t to[] = { 0, 5 * PAGE + 123, N / 2 };
	const char *file;
	int other, bad = 0;

	ct_begin(argc, argv);
	if (argc > 3 && !strcmp(argv[2], "cutter"))
		cutter(argv[3]);
	signal(SIGBUS, on_bus);
	file = strdup(ct_path("cut"));
	seed = (unsigned)getpid();
	close(fresh(file));
	other = start(argv[0], file);
	for (int k = 0; k < ROUNDS; k++)
		bad += !one_round(file, other, to[k % 3]);
	say("C106 rounds with another size, or old bytes: %d", bad);
	return 0;
}
