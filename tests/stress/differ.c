/* SPDX-License-Identifier: MIT */
/*
 * differ.c - random calls of several processes and threads on one file, in an
 * order that is the same in every run. What each call returned, and what all
 * mappings and the file hold then, goes to stdout: a run with the library must
 * say what a run without it says.
 *
 *   differ [-r seed] [-n operations] [-v] DIR
 *
 * Nothing here knows what is right: the kernel does. Beside the calls, threads
 * of each worker read pages and add nought to them, which changes no byte and
 * makes pages dirty, present and write-protected at any moment. By its seed a
 * run has one worker, two, or one and another without the library that does
 * not map; takes place at the beginning of the file or beyond 2 GiB, 4 GiB or
 * 8 TiB; and is gentle (see differ.h) or not.
 */
#include "differ.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 2

static struct plan plan;
static uint64_t seed = 1, rounds = 400, luck;
static int n_workers;
static bool without[WORKERS]; /* the library */
static struct { FILE *to, *from; pid_t pid; } with[WORKERS];
static char answer[LINE];

static uint64_t draw(uint64_t below)
{
	luck ^= luck << 13;
	luck ^= luck >> 7;
	luck ^= luck << 17;
	return below ? (luck * 0x2545f4914f6cdd1dull >> 11) % below : 0;
}

static _Noreturn void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void start(int w)
{
	char base[32], flags[8];
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe2");
	snprintf(base, sizeof(base), "%llu", (unsigned long long)plan.base);
	snprintf(flags, sizeof(flags), "%s%s-", plan.gentle ? "g" : "",
		 plan.verbose ? "v" : "");
	fflush(stdout);
	with[w].pid = fork();
	if (with[w].pid < 0)
		die("fork");
	if (!with[w].pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (without[w])
			unsetenv("LD_PRELOAD");
		execl("/proc/self/exe", "differ", "-w", base, flags, plan.dir,
		      NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	with[w].to = fdopen(in[1], "w");
	with[w].from = fdopen(out[0], "r");
}

static void end(int w, bool killed)
{
	int status;

	if (killed)
		kill(with[w].pid, SIGKILL);
	fclose(with[w].to);
	fclose(with[w].from);
	if (waitpid(with[w].pid, &status, 0) != with[w].pid)
		die("waitpid");
	printf("w%d ended: %#x\n", w, status);
	if (killed)
		usleep(400000); /* the guardian writes, a little later */
}

static void say(int w, const char *line)
{
	printf("w%d %s", w, line);
	fflush(stdout);
	if (fputs(line, with[w].to) < 0 || fflush(with[w].to))
		die("worker");
	if (!fgets(answer, sizeof(answer), with[w].from)) {
		printf("w%d is gone\n", w);
		exit(1);
	}
	printf("  = %s", answer);
}

static bool fits(const struct differ_op *o, int w)
{
	return (!without[w] || o->native) && !(plan.gentle && o->harsh);
}

static const struct differ_op *choose(int w)
{
	unsigned total = 0, r;
	const struct differ_op *o;

	for (o = differ_ops; o->name; o++)
		total += fits(o, w) ? o->weight : 0;
	r = (unsigned)draw(total);
	for (o = differ_ops;; o++) {
		if (!fits(o, w))
			continue;
		if (r < o->weight)
			return o;
		r -= o->weight;
	}
}

static void all(const char *line)
{
	for (int w = 0; w < n_workers; w++)
		say(w, line);
}

static void step(int w)
{
	const struct differ_op *o = choose(w);
	char line[256];
	int n = snprintf(line, sizeof(line), "%llu %s",
			 (unsigned long long)draw(2), o->name);

	for (int i = 0; i < ARGS; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %llu",
			      (unsigned long long)draw(1u << 30));
	snprintf(line + n, sizeof(line) - (size_t)n, "\n");
	if (o->still)
		all("0 still 1 0 0 0 0 0\n");
	say(w, line);
	if (o->still)
		all("0 still 0 0 0 0 0 0\n");
}

static void again(int w)
{
	end(w, draw(2));
	start(w);
}

static void play(void)
{
	int w = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		if (draw(12) == 0)
			w = (int)draw((uint64_t)n_workers);
		step(w);
		if (draw(6) == 0)
			all("0 check 0 0 0 0 0 0\n");
		if (draw(150) == 0)
			again((int)draw((uint64_t)n_workers));
	}
	all("0 check 0 0 0 0 0 0\n");
}

static void make_plan(void)
{
	static const uint64_t bases[] = { 0, 0, 0, (2ull << 30) - 40 * PAGE,
					  (4ull << 30) - 40 * PAGE,
					  8ull << 40 };

	luck = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		draw(2);
	plan.base = bases[draw(6)];
	plan.gentle = draw(4) != 0;
	n_workers = 1 + (draw(2) == 0);
	without[1] = draw(2);
	printf("seed %llu base %llu%s workers %d%s\n",
	       (unsigned long long)seed, (unsigned long long)plan.base,
	       plan.gentle ? " gentle" : "", n_workers,
	       without[1] ? " second without" : "");
}

static void fresh_file(void)
{
	char at[4096];
	int fd;

	snprintf(at, sizeof(at), "%s/differ", plan.dir);
	unlink(at);
	fd = open(at, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)plan.base + 70 * PAGE + 123))
		die(at);
	close(fd);
}

int main(int argc, char **argv)
{
	int c;

	if (argc == 5 && !strcmp(argv[1], "-w")) {
		plan.base = strtoull(argv[2], NULL, 0);
		plan.gentle = strchr(argv[3], 'g');
		plan.verbose = strchr(argv[3], 'v');
		plan.dir = argv[4];
		return worker(&plan);
	}
	while ((c = getopt(argc, argv, "r:n:v")) != -1) {
		if (c == 'r')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			rounds = strtoull(optarg, NULL, 0);
		else if (c == 'v')
			plan.verbose = true;
		else
			exit(2);
	}
	if (optind != argc - 1) {
		fputs("usage: differ [-r seed] [-n operations] [-v] DIR\n",
		      stderr);
		exit(2);
	}
	plan.dir = argv[optind];
	make_plan();
	fresh_file();
	for (int w = 0; w < n_workers; w++)
		start(w);
	play();
	for (int w = 0; w < n_workers; w++)
		end(w, false);
	printf("done: %llu operations\n", (unsigned long long)rounds);
	return 0;
}
