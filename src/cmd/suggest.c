/* SPDX-License-Identifier: MIT */
/* suggest.c - fastmap suggest: a policy file for a program that is run now, for
 * one that runs, or for one that has left its statistics. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "live.h"
#include "policy.h"
#include "settings.h"
#include "shown.h"
#include "stage.h"
#include "suggestion.h"

#define NAME "fastmap suggest"
#define GUARDIAN_MS 2000
#define LOOK_MS 5

enum { OPT_FROM = 2000 };

static const struct option own_options[] = {
	{ "from", required_argument, NULL, OPT_FROM },
	{ 0 },
};

static void help(void)
{
	printf("usage: fastmap suggest [OPTION...] -- PROGRAM [ARG...]\n"
	       "       fastmap suggest --from FILE\n"
	       "       fastmap suggest WHO\n\n"
	       "Writes a policy file to standard output: which files gain, how "
	       "large the cache\nshould be, settings, and the reason of each "
	       "line. The program is run once under\nthe library (its output "
	       "goes to standard error); a WHO (process id, name or\n"
	       "socket) is asked. What it takes is counted in every run: the "
	       "program pays nothing\nmore for it.\n\n"
	       "  --from FILE             statistics of a run, JSON "
	       "(--stats)\n\n"
	       "Without --paths: files and folders that the arguments name. "
	       "For the library:\n\n");
	settings_help();
}

static int write_out(json_t *docs, const char *what)
{
	int err = suggestion_write(docs, fm_memory_limit(), stdout);

	json_decref(docs);
	if (err)
		fprintf(stderr, NAME ": %s: no statistics of the library\n",
			what);
	return err ? 2 : 0;
}

static int from_file(const char *path)
{
	json_t *docs = json_array(), *doc;
	json_error_t e;

	doc = shown_json(json_load_file(path, 0, &e));
	if (!doc) {
		fprintf(stderr, NAME ": %s: %s\n", path, e.text);
		json_decref(docs);
		return 2;
	}
	json_array_append_new(docs, doc);
	return write_out(docs, path);
}

static int from_running(const char *who)
{
	json_t *docs, *doc = live_stats(who);

	if (!doc)
		return 1;
	docs = json_array();
	json_array_append_new(docs, doc);
	return write_out(docs, who);
}

/* ---- a run -------------------------------------------------------------- */

/* Its output is not the policy file. */
static void child(char **argv)
{
	dup2(2, 1);
	stage_run_variable();
	execvp(argv[0], argv);
	fprintf(stderr, NAME ": %s: %m\n", argv[0]);
	_exit(127);
}

/* The signals of the terminal are the program's: its statistics count. */
static int run(char **argv, int *ret_status)
{
	pid_t pid;

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		child(argv);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* After a kill the guardian writes them, some milliseconds later, and is a
 * child of this process then (PR_SET_CHILD_SUBREAPER). What else the program
 * has left behind is not waited for. */
static void wait_guardian(void)
{
	for (int ms = 0; ms < GUARDIAN_MS; ms += LOOK_MS) {
		const pid_t ended = waitpid(-1, NULL, WNOHANG | __WALL);

		if (ended < 0 && errno != EINTR)
			return;
		if (!ended)
			usleep(LOOK_MS * 1000);
	}
}

static json_t *collect_soon(const char *folder, int status)
{
	json_t *docs;

	if (WIFSIGNALED(status))
		wait_guardian();
	docs = stage_collect(folder);
	rmdir(folder);
	return docs;
}

static int from_run(char **argv)
{
	static struct program program;
	static char real[PATH_MAX];
	char folder[PATH_MAX];
	json_t *docs;
	int status = 0, err = program_find(argv[0], &program);

	if (err) {
		fprintf(stderr, NAME ": %s: %s\n", argv[0], strerror(err));
		return 2;
	}
	if (settings_library(real) || stage_paths(argv, &program) < 0 ||
	    settings_preload(real) || stage_folder(folder))
		return 2;
	err = run(argv, &status);
	docs = collect_soon(folder, status);
	if (err)
		fprintf(stderr, NAME ": %s: %s\n", argv[0], strerror(-err));
	else if (status)
		fprintf(stderr, NAME ": %s ended with %s %d\n", argv[0],
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) :
					      WEXITSTATUS(status));
	if (!json_array_size(docs)) {
		fprintf(stderr, NAME ": nothing below the paths was mapped: "
			"there is nothing to suggest\n");
		json_decref(docs);
		return 1;
	}
	return write_out(docs, argv[0]);
}

/* A WHO, or a program after "--". */
static int given(char **argv, int n, bool program)
{
	if (n && program)
		return from_run(argv);
	if (n == 1)
		return from_running(argv[0]);
	fprintf(stderr, NAME ": %s; see --help\n",
		n ? "a program stands after --" : "nothing given");
	return 2;
}

int cmd_suggest(int argc, char **argv)
{
	const char *from = NULL;
	int c;

	stage_leave_library(argv - 1); /* all of main's */
	argv[0] = NAME; /* getopt_long's messages begin with it */
	while ((c = getopt_long(argc, argv, "+h",
				settings_options(own_options), NULL)) != -1) {
		if (c == 'h') {
			help();
			return 0;
		}
		if (c == OPT_FROM)
			from = optarg;
		else if (c == '?' || settings_take(NAME, c, optarg))
			return 2;
	}
	if (!from)
		return given(argv + optind, argc - optind,
			     !strcmp(argv[optind - 1], "--"));
	if (optind == argc)
		return from_file(from);
	fprintf(stderr, NAME ": --from and a program; see --help\n");
	return 2;
}
