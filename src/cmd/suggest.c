/* SPDX-License-Identifier: MIT */
/* suggest.c - fastmap suggest: a policy file for a program that is run now, and
 * tried with it; for one that runs, or for one that has left its statistics. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cmd.h"
#include "leavers.h"
#include "loop.h"
#include "live.h"
#include "policy.h"
#include "rounds.h"
#include "set.h"
#include "settings.h"
#include "shown.h"
#include "stage.h"
#include "stats_doc.h"
#include "suggestion.h"

#define NAME "fastmap suggest"
#define REST_MS 2000 /* for who is left after its end */
#define LOOK_MS 5
#define ROUNDS 2 /* the least that tell */

enum { OPT_FROM = ROUNDS_END };

static const struct option own_options[] = {
	{ "from", required_argument, NULL, OPT_FROM },
	ROUNDS_OPTIONS,
	{ 0 },
};

static struct rounds all = { .n = ROUNDS };
static const char *from; /* --from */

static void suggest_help(void)
{
	printf("usage: fastmap suggest [OPTION...] -- PROGRAM [ARG...]\n"
	       "       fastmap suggest --from FILE\n"
	       "       fastmap suggest WHO\n\n"
	       "Writes a policy file to standard output: which files gain, how "
	       "large the cache\nshould be, settings, and the reason of each "
	       "line. The program is run once under\nthe library (its output "
	       "goes to standard error); then what is suggested is tried,\nin "
	       "turns with runs without the library, as by fastmap compare, and "
	       "what it gains\nis said, or that it gains nothing. A WHO (process "
	       "id, name or socket) is asked;\nthat, and statistics, are not "
	       "tried.\n\n"
	       "  --from FILE             statistics of a run, JSON "
	       "(--stats)\n"
	       "  --memory SIZE           each run in a memory control group of "
	       "this size\n"
	       "  --rounds N              to try it, 0 to 99 (default 2; 0: the "
	       "program is run\n"
	       "                          once)\n"
	       "  --same FILE             that it writes; each run begins with "
	       "what it holds now\n"
	       "  --cold files|all|no     before each run drop from the page "
	       "cache: the files\n"
	       "                          below the paths (default), "
	       "everything (as root), nothing\n\n"
	       "Without --paths: files and folders that the arguments name. "
	       "For the library:\n\n");
	settings_help();
}

/* ---- statistics --------------------------------------------------------- */

static const struct suggestion_trial untried = { NULL, "" };

static int suggest_write_out(const json_t *docs,
			     const struct suggestion_trial *t, const char *what)
{
	const json_t *doc = suggestion_of(docs);

	if (!doc) {
		fprintf(stderr, NAME ": %s: no statistics of the library\n",
			what);
		return 2;
	}
	suggestion_write(doc, fm_memory_limit(), t, stdout);
	return 0;
}

/* Of one document, which is given up. */
static int from_document(json_t *doc, const char *what)
{
	json_t *docs = json_array();
	int r;

	json_array_append_new(docs, doc);
	r = suggest_write_out(docs, &untried, what);
	json_decref(docs);
	return r;
}

static int from_file(const char *path)
{
	json_error_t e;
	json_t *doc = shown_json(json_load_file(path, 0, &e));

	if (doc)
		return from_document(doc, path);
	fprintf(stderr, NAME ": %s: no statistics: %s\n", path, e.text);
	return 2;
}

static int from_running(const char *who)
{
	json_t *doc = live_stats(who);

	return doc ? from_document(doc, who) : 1;
}

/* ---- a run -------------------------------------------------------------- */

/* Its output is not the policy file. */
static void suggest_child(void *arg)
{
	char **argv = arg;

	if (*all.group.dir && group_enter(&all.group)) {
		perror(NAME ": entering the control group");
		_exit(126);
	}
	dup2(2, 1);
	stage_run_variable();
	child_is_ready();
	execvp(argv[0], argv);
	fprintf(stderr, NAME ": %s: %m\n", argv[0]);
	_exit(127);
}

static bool ended; /* by the terminal */

static void note_end(uv_signal_t *s, int number)
{
	ended = true;
}

/* The signals of the terminal are the program's: its statistics count. */
static int suggest_run(char **argv, int *ret_status)
{
	uv_signal_t ends[2];
	struct child c = { .pid = 0 };
	int err;

	for (unsigned i = 0; i < 2; i++) {
		uv_signal_init(uv_default_loop(), &ends[i]);
		uv_signal_start(&ends[i], note_end, i ? SIGQUIT : SIGINT);
	}
	leavers_begin();
	err = child_start(&c, suggest_child, argv);
	if (!err) {
		child_wait(&c);
		while (waitpid(c.pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	for (unsigned i = 0; i < 2; i++)
		loop_close((uv_handle_t *)&ends[i]);
	return err;
}

/* After a kill the guardian writes the statistics, some milliseconds later. */
static void wait_leavers(void)
{
	for (int ms = 0; ms < REST_MS && leavers_any(); ms += LOOK_MS)
		usleep(LOOK_MS * 1000);
}

static void say_leavers(void)
{
	char left[160];

	leavers_names(left, sizeof(left));
	if (*left)
		fprintf(stderr, NAME ": left behind: %s%s\n", left,
			*all.group.dir ? "" : "; it runs on");
}

static int run_in_group(char **argv, int *ret_status)
{
	const struct group *g = &all.group;
	int err = *g->dir ? group_make(g, all.c.memory) : 0;

	if (!err)
		err = suggest_run(argv, ret_status);
	wait_leavers();
	say_leavers();
	if (*g->dir)
		group_end(g, REST_MS);
	return err;
}

/* Once, to see what it does; NULL: it has mapped nothing. */
static json_t *suggest_look(char **argv, int *ret_status)
{
	json_t *docs;
	int err = rounds_prepare(&all);

	if (!err)
		err = run_in_group(argv, ret_status);
	docs = stage_collect(all.folder);
	if (err)
		fprintf(stderr, NAME ": %s: %s\n", argv[0], strerror(-err));
	else if (*ret_status)
		fprintf(stderr, NAME ": %s ended with %s %d\n", argv[0],
			WIFSIGNALED(*ret_status) ? "signal" : "status",
			WIFSIGNALED(*ret_status) ? WTERMSIG(*ret_status) :
					      WEXITSTATUS(*ret_status));
	if (json_array_size(docs))
		return docs;
	fprintf(stderr, NAME ": nothing below the paths was mapped: there is "
		"nothing to suggest\n");
	json_decref(docs);
	return NULL;
}

/* ---- tried -------------------------------------------------------------- */

/* Variables count more than the file: without those that it is to replace. */
static void leave_variables(const char *policy)
{
	char line[64];

	for (unsigned i = 0; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];

		snprintf(line, sizeof(line), "\n%s = ", o->name);
		if (o->env && (strstr(policy, line) ||
			       !strcmp(o->name, "paths")))
			unsetenv(o->env);
	}
}

/* The file, for the library; it is to be removed. */
static int suggest_save(const char *policy, char *ret_path)
{
	int fd;
	FILE *f;

	snprintf(ret_path, PATH_MAX, "%.*s.XXXXXX.policy", PATH_MAX - 16,
		 all.folder);
	fd = mkstemps(ret_path, (int)strlen(".policy"));
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return -1;
	fputs(policy, f);
	return fclose(f);
}

static const char *sentence(void)
{
	static char text[4096];
	const struct comparison *c = &all.c;

	snprintf(text, sizeof(text), "%s%s (%u round%s in turns%s)",
		 c->rounds < ROUNDS || differs_natively(c) ||
		 fails_natively(c) || !c->served.files ? "not known: " :
		 !same_output(c)  ? "DO NOT USE IT: " :
		 is_faster(c)     ? "" : "gains nothing: ",
		 verdict(c), c->rounds, c->rounds == 1 ? "" : "s",
		 trial_has_input() ? "" : ", standard input empty");
	return text;
}

/* What a policy file has named, for the page cache. */
static char *files_of(const json_t *doc)
{
	char *list = NULL;
	const json_t *f;
	size_t size, i;
	FILE *out = open_memstream(&list, &size);

	json_array_foreach(json_object_get(doc, "files"), i, f)
		fprintf(out, "%s:", doc_text(f, "path"));
	fclose(out);
	return list;
}

/* NULL: it could not be, or was interrupted. */
static const char *suggest_try(const json_t *doc, const char *policy)
{
	char path[PATH_MAX] = "";
	const struct trial *t;
	enum side side;
	int err = suggest_save(policy, path);

	if (!all.c.paths)
		all.c.paths = files_of(doc);
	leave_variables(policy);
	setenv("FASTMAP_POLICY", path, 1);
	all.ours = environ;
	trial_begin();
	if (!err)
		err = rounds_run(&all);
	unlink(path);
	t = left_behind(&all.c, &side);
	if (t)
		fprintf(stderr, NAME ": left behind when it was tried: %s\n",
			t->left);
	return err ? NULL : sentence();
}

static bool suggest_is_served(const json_t *doc)
{
	return json_array_size(json_object_get(doc, "files"));
}

static const char *why_not(const json_t *doc, int status)
{
	return !all.n	       ? " (--rounds 0)" :
	       !suggest_is_served(doc) ? " (nothing was served)" :
	       status || ended ? " (it failed, or was ended)" : NULL;
}

static int suggest(const json_t *docs, char **argv, int status)
{
	const json_t *doc = suggestion_of(docs);
	struct suggestion_trial t = untried;
	char *policy = NULL;
	size_t size;
	FILE *f;

	t.why_not = doc ? why_not(doc, status) : "";
	if (!t.why_not) {
		t.why_not = " (that was interrupted, or could not be)";
		f = open_memstream(&policy, &size);
		suggestion_write(doc, fm_memory_limit(), &t, f);
		fclose(f);
		t.verdict = suggest_try(doc, policy);
	}
	free(policy);
	rounds_end(&all);
	status = suggest_write_out(docs, &t, argv[0]);
	fflush(stdout);
	trial_die();
	return status;
}

static int from_run(char **argv)
{
	json_t *docs;
	int status = 0;

	if (rounds_program(&all, argv))
		return 2;
	if (rounds_begin(&all)) {
		rounds_end(&all);
		return 2;
	}
	if (all.c.no_memory)
		fprintf(stderr, NAME ": memory: NOT limited: %s\n",
			all.c.no_memory);
	docs = suggest_look(argv, &status);
	if (!docs) {
		rounds_end(&all);
		return 1;
	}
	status = suggest(docs, argv, status);
	json_decref(docs);
	return status;
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

static int suggest_take(int c, const char *value)
{
	if (c != OPT_FROM)
		return rounds_take(&all, NAME, c, value, 0);
	from = value;
	return 0;
}

int cmd_suggest(int argc, char **argv)
{
	static const struct settings_command command = {
		NAME, own_options, suggest_take, suggest_help,
	};
	const int status = rounds_parse(&all, &command, argc, argv);

	if (status >= 0)
		return status;
	if (!from)
		return given(argv + optind, argc - optind,
			     !strcmp(argv[optind - 1], "--"));
	if (optind == argc)
		return from_file(from);
	fprintf(stderr, NAME ": --from and a program; see --help\n");
	return 2;
}
