/* SPDX-License-Identifier: MIT */
/*
 * C49b: we store records through a mapping, then their number in its first
 * page; a process that does not have the library opens the file, reads the
 * number and the last of the records, and has closed it, again and again. It
 * never sees the number without the records, once it has been noticed.
 */
#include "peers.h"

#include <time.h>

#define SIZE (64l << 20)
#define RECORD 64
#define LAST 256     /* records that are looked at */
#define NOTICED 700 /* ms: the device may have much to do first */
#define LOOKS_MS 2000
#define STARTS 61 /* descriptor of the reader */

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_record(const char *p, long at)
{
	long first, last;

	memcpy(&first, p, sizeof(first));
	memcpy(&last, p + RECORD - sizeof(last), sizeof(last));
	return first == at * 3 + 1 && last == ~at;
}

/* Is a record missing before the number that the file has? */
static bool torn(const char *file)
{
	static char b[LAST * RECORD];
	int fd = open(file, O_RDONLY);
	long end = RECORD, from;
	bool bad = false;

	if (fd < 0 || pread(fd, &end, sizeof(end), 0) != sizeof(end))
		_exit(1);
	from = end > (LAST + 1) * RECORD ? end - LAST * RECORD : RECORD;
	if (pread(fd, b, (size_t)(end - from), from) != end - from)
		_exit(2);
	close(fd);
	for (long at = from; at < end; at += RECORD)
		bad |= !is_record(b + at - from, at);
	return bad;
}

/* FILE: says how often it was torn, none: 0. */
static void reader_role(int argc, char **argv)
{
	long begin, n = 0;
	char c;

	if (argc < 4 || strcmp(argv[2], "reader"))
		return;
	if (read(STARTS, &c, 1) != 1)
		_exit(3);
	begin = now_ms();
	while (now_ms() - begin < NOTICED + LOOKS_MS) {
		n += torn(argv[3]) && now_ms() - begin > NOTICED;
		usleep(3000); /* a look finds it closed */
	}
	_exit(n ? 10 : 0);
}

static pid_t start(const char *self, const char *file, int *ret_end)
{
	char *argv[] = { (char *)self, ct_dir, "reader", (char *)file, NULL };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	*ret_end = s[0];
	return peer_spawn(argv, s[1], STARTS, true);
}

static void append(char *m, long *at)
{
	*(volatile long *)(m + *at) = *at * 3 + 1;
	*(volatile long *)(m + *at + RECORD - sizeof(long)) = ~*at;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*at += RECORD;
	*(volatile long *)m = *at;
}

int main(int argc, char **argv)
{
	const char *file;
	long at = RECORD, begin;
	int fd, end, status;
	pid_t reader;
	char *m;

	ct_begin(argc, argv);
	reader_role(argc, argv);
	file = ct_path("order");
	unlink(file);
	reader = start(argv[0], file, &end);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, SIZE))
		ct_die("file");
	m = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	append(m, &at);
	if (write(end, "g", 1) != 1)
		ct_die("write");
	/* Without a call by which either could tell the other something. */
	for (begin = now_ms(); now_ms() - begin < NOTICED + LOOKS_MS;) {
		for (int n = 0; n < 32 && at < SIZE; n++)
			append(m, &at);
		usleep(200);
	}
	waitpid(reader, &status, 0);
	say("C49b: ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
