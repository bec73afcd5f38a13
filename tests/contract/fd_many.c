/* SPDX-License-Identifier: MIT */
/* D6: a hundred mapped files, each with a descriptor of the engine; all that
 * can be named are closed, and a child of fork, and we, go on with the
 * mappings. */
#include "ct.h"

#define FILES 100
#define BYTES (2 * PAGE)

static char *map[FILES];

static int good(char want)
{
	int n = 0;

	for (int i = 0; i < FILES; i++)
		n += map[i][PAGE + 5] == (char)(want + i % 16) &&
		     ct_matches(map[i], PAGE, 0);
	return n;
}

static void store(char what)
{
	for (int i = 0; i < FILES; i++)
		map[i][PAGE + 5] = (char)(what + i % 16);
}

static int in_file(int i, char want)
{
	char name[16], c = 0;
	int fd;

	snprintf(name, sizeof(name), "f%d", i);
	fd = open(ct_path(name), O_RDONLY);
	if (fd < 0 || pread(fd, &c, 1, PAGE + 5) != 1)
		ct_die("pread");
	close(fd);
	return c == (char)(want + i % 16);
}

static int child(void *arg)
{
	int n;

	closefrom(3);
	n = good('A');
	store('a');
	return (void)arg, n;
}

int main(int argc, char **argv)
{
	int n = 0;

	ct_begin(argc, argv);
	for (int i = 0; i < FILES; i++) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = ct_file(name, BYTES);
		map[i] = ct_map(fd, BYTES, RW, MAP_SHARED, 0);
		close(fd);
	}
	store('A');
	closefrom(3);
	say("D6 after closefrom %d", good('A'));
	n = ct_child(child, NULL);
	say("D6 child %d, stored %d", n, good('a'));
	n = 0;
	for (int i = 0; i < FILES; i++)
		munmap(map[i], BYTES);
	for (int i = 0; i < FILES; i++)
		n += in_file(i, 'a');
	say("D6 in the files %d", n);
	return 0;
}
