/* SPDX-License-Identifier: MIT */
/*
 * live.h - running processes under the library: which there are, and what they
 * answer on their control sockets (src/base/control.h).
 *
 * WHO is a process id, the name of a program that only one such process runs,
 * or the path of a socket (with a '/').
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct live_process {
	pid_t pid;
	uid_t uid;
	char name[256];   /* of the program */
	char socket[108]; /* path, as long as an address can be */
};

/* All that have a socket in the usual places and whose owner we may be, by pid.
 * Sockets of processes that have been killed are removed. Returns how many;
 * *ret is to be freed. */
size_t live_list(struct live_process **ret);

/* Which one is meant; of a socket the pid is 0. -1: said. */
int live_find(const char *who, struct live_process *ret);
/* The same, and it has been connected to: of a socket the pid is known, too. */
int live_meet(const char *who, struct live_process *ret);
/* Why that one could not be asked, or has not answered: by errno, EAGAIN: it
 * was silent. */
void live_say_failure(const char *who);
/* One line, without its end, and the whole answer, to be freed; NULL when the
 * reason has been said, be it the process's own ("error: ..."). */
char *live_ask(const char *who, const char *line);
json_t *live_stats(const char *who);
/* The statistics of all, which are asked at the same time: NULL where one has
 * not answered. */
void live_stats_of_all(const struct live_process *p, size_t n, json_t **ret);
bool live_runs(pid_t pid);
/* Bytes of /proc/PID/what, with a NUL behind them; -1: errno. */
ssize_t live_read_proc(pid_t pid, const char *what, char *buf, size_t size);
/* A command that may take long: a bar on a terminal, then the answer on stdout.
 * Returns an exit status. */
int live_do(const char *who, const char *line);
/* A command of one word, whose only argument is WHO. */
int live_word(int argc, char **argv, const char *help, const char *word);

/* The answer to what may take long, be it "error: ...". NULL: said. */
char *live_talk(const char *who, const char *line);
