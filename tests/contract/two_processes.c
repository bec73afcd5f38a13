/* SPDX-License-Identifier: MIT */
/* C28: two programs that map one file see each other's stores at once,
 * whoever came first. The second is started by exec and shares nothing. */
#include "ct.h"

#include <spawn.h>

#define PAGES 64

static int to[2], from[2]; /* pipes, seen from the first process */

static void send_byte(int fd, char c)
{
	if (write(fd, &c, 1) != 1)
		ct_die("write");
}

static char get_byte(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		ct_die("read");
	return c;
}

static pid_t start(char *self, const char *role)
{
	char a[16], b[16];
	char *argv[] = { self, ct_dir, (char *)role, a, b, NULL };
	extern char **environ;
	pid_t pid;

	if (pipe(to) || pipe(from))
		ct_die("pipe");
	snprintf(a, sizeof(a), "%d", to[0]);
	snprintf(b, sizeof(b), "%d", from[1]);
	fflush(stdout);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		ct_die("spawn");
	close(to[0]);
	close(from[1]);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	close(to[1]);
	close(from[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		say("C28 other process: status %#x", status);
}

/* Page i is stored to by the first, page i + PAGES / 2 by the second. */
static int second(const char *role, int in, int out)
{
	int fd = open(ct_path("f"), O_RDWR), bad = 0;
	bool reader = !strcmp(role, "reader");
	char *p = ct_map(fd, PAGES * PAGE, reader ? PROT_READ : RW, MAP_SHARED,
			 0);

	for (int i = 0; i < PAGES / 2; i++) {
		char v = get_byte(in);

		bad += p[i * (int)PAGE + 7] != v;
		if (!reader)
			p[(i + PAGES / 2) * (int)PAGE + 9] = (char)(v ^ 0x55);
		send_byte(out, 'k');
	}
	say("C28 %s: stores missed %d", role, bad);
	return 0;
}

static void with(char *self, const char *role, bool map_first)
{
	int fd = ct_file("f", PAGES * PAGE), bad = 0;
	char *p = NULL;
	pid_t pid;

	if (map_first) {
		p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
		p[PAGE] = 0x31; /* dirty before the other one appears */
		p[3] = 0x32;
	}
	pid = start(self, role);
	for (int i = 0; i < PAGES / 2; i++) {
		char v = (char)(i + 65);

		if (!p)
			p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
		p[i * (int)PAGE + 7] = v;
		send_byte(to[1], v);
		get_byte(from[0]);
		if (strcmp(role, "reader"))
			bad += p[(i + PAGES / 2) * (int)PAGE + 9] !=
			       (char)(v ^ 0x55);
	}
	finish(pid);
	say("C28 first with %s, %s: stores missed %d", role,
	    map_first ? "mapped before" : "mapped after", bad);
	p[5 * PAGE] = 0x41; /* alone again */
	say("C28 alone again: %02x, all kept: %d", ct_in_file(fd, 5 * PAGE),
	    p[8 * PAGE + 7] == 8 + 65 && (!map_first || p[3] == 0x32));
	munmap(p, PAGES * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	if (argc > 4)
		return second(argv[2], atoi(argv[3]), atoi(argv[4]));
	with(argv[0], "writer", true);
	with(argv[0], "writer", false);
	with(argv[0], "reader", true);
	return 0;
}
