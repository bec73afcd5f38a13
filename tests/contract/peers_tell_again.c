/* SPDX-License-Identifier: MIT */
/*
 * C49c: we store to the same few pages again and again and write a word
 * somewhere each time. Another process, which has not looked so far, gets the
 * last one, opens the file, and sees what we stored before it.
 */
#include "peers.h"

#include <sys/wait.h>

#define PAGES 64
#define FEW 5
#define APART 7 /* pages */
#define ROUNDS 24
#define WORDS 40
#define END 60 /* descriptor of the other process */

static const char *self, *path;

/* FILE HOW: answers with the number of pages that lack what it is told. */
static void looker_role(int argc, char **argv)
{
	const size_t len = PAGES * PAGE;
	unsigned char value, lacking = 0;
	char *bytes = NULL;
	int fd;

	if (argc < 5 || strcmp(argv[2], "looker"))
		return;
	if (read(END, &value, 1) != 1 || (fd = open(argv[3], O_RDONLY)) < 0)
		_exit(1);
	if (argv[4][0] == 'm')
		bytes = ct_map(fd, len, PROT_READ, MAP_SHARED, 0);
	else if (!(bytes = malloc(len)) ||
		 pread(fd, bytes, len, 0) != (ssize_t)len)
		_exit(2);
	for (size_t k = 0; k < FEW; k++)
		lacking += (unsigned char)bytes[k * APART * PAGE] != value;
	_exit(write(END, &lacking, 1) != 1);
}

static pid_t start(const char *how, int *ret_end)
{
	char *argv[] = { (char *)self, ct_dir, "looker", (char *)path,
			 (char *)how, NULL };
	pid_t pid;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	pid = peer_spawn(argv, s[1], END, true);
	*ret_end = s[0];
	return pid;
}

static void store(volatile char *m, unsigned char value)
{
	for (size_t k = 0; k < FEW; k++)
		m[k * APART * PAGE] = (char)value;
}

/* A new file each time: one that has been handed over proves nothing. */
static int one(int round, int words)
{
	int fd = peer_file("f", PAGES * PAGE), end;
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	unsigned char value = 0, lacking = FEW;
	pid_t pid;

	close(fd);
	pid = start(round % 2 ? "m" : "r", &end);
	for (int k = 0; k < WORDS + round * 5; k++) {
		store(m, ++value);
		if (write(words, ".", 1) != 1)
			ct_die("no word");
	}
	store(m, ++value);
	if (write(end, &value, 1) != 1 || read(end, &lacking, 1) != 1)
		ct_die("no answer");
	close(end);
	waitpid(pid, NULL, 0);
	munmap((void *)m, PAGES * PAGE);
	return lacking;
}

int main(int argc, char **argv)
{
	int stale = 0, words;

	ct_begin(argc, argv);
	looker_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	words = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int r = 0; r < ROUNDS; r++)
		stale += one(r, words);
	say("C49c stale %d", stale);
	return 0;
}
