/* SPDX-License-Identifier: MIT */
/*
 * F8t: one number is in turn a socket, a mapped file, a pipe, another mapped
 * file, by libc's calls and by system call instructions of the program's own.
 * What is written by it, and read, is what the mapping has, whatever the number
 * was before.
 */
#include "ct.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#define N 16ul
#define NUMBER 77
#define TURNS 12

static char *map[2];
static int file[2], pipes[2], sockets[2];

static void put_under(int fd, bool raw)
{
	if (raw)
		ct_raw(SYS_dup2, fd, NUMBER, 0, 0);
	else
		dup2(fd, NUMBER);
}

/* Twice: the second time it is known what the number is. */
static void pass_words(const int to[2], bool raw)
{
	char c = 0;

	put_under(to[1], raw);
	for (int i = 0; i < 2; i++)
		if (write(NUMBER, "w", 1) != 1 || read(to[0], &c, 1) != 1 ||
		    c != 'w')
			say("F8t a word is lost: %c", c);
}

static int differ(int which, int turn, bool raw)
{
	const size_t at = (size_t)turn % N * PAGE;
	char c = 0, w = (char)('a' + turn);
	int bad = 0;

	put_under(file[which], raw);
	map[which][at + 10] = w;
	bad += pread(NUMBER, &c, 1, (off_t)at + 10) != 1 || c != w;
	bad += pwrite(NUMBER, &w, 1, (off_t)at + 20) != 1 ||
	       map[which][at + 20] != w;
	map[which][at + 30] = w;
	bad += lseek(NUMBER, (off_t)at + 30, SEEK_SET) < 0 ||
	       read(NUMBER, &c, 1) != 1 || c != w;
	bad += write(NUMBER, &w, 1) != 1 || map[which][at + 31] != w;
	return bad;
}

static void take_turns(bool raw)
{
	int bad = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		pass_words(turn % 3 ? sockets : pipes, raw);
		bad += differ(turn % 2, turn, raw);
		pass_words(turn % 3 ? pipes : sockets, raw);
		bad += differ(1 - turn % 2, turn, raw);
	}
	say("F8t %s: %d wrong", raw ? "by instructions" : "by calls", bad);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	for (int i = 0; i < 2; i++) {
		file[i] = ct_file(i ? "second" : "first", N * PAGE);
		map[i] = ct_map(file[i], N * PAGE, RW, MAP_SHARED, 0);
	}
	take_turns(false);
	take_turns(true);
	for (int i = 0; i < 2; i++)
		say_rc("F8t munmap", munmap(map[i], N * PAGE));
	return 0;
}
