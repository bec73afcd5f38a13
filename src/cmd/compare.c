/* SPDX-License-Identifier: MIT */
/*
 * compare.c - fastmap compare: a program natively and under the library, in
 * turns, in the same memory and with a cold cache; is its output the same, and
 * what does it cost.
 */
#include "compare.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "heard.h"
#include "policy.h"
#include "settings.h"
#include "stage.h"

#define NAME "fastmap compare"

enum { OPT_MEMORY = 2000, OPT_ROUNDS, OPT_SAME, OPT_COLD, OPT_JSON };

static const struct option own_options[] = {
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "same", required_argument, NULL, OPT_SAME },
	{ "cold", required_argument, NULL, OPT_COLD },
	{ "json", no_argument, NULL, OPT_JSON },
	{ 0 },
};

static struct comparison all;
static struct program program;
static struct group group;
static unsigned rounds = 3;
static bool json, terminal;
static char **native_environment;
static char folder[PATH_MAX]; /* of statistics */

static void help(void)
{
	printf("usage: fastmap compare [OPTION...] [--] PROGRAM [ARG...]\n\n"
	       "Runs it natively and with the library, in turns. Status: 0 the "
	       "same output,\n1 outputs differ, 2 it could not be compared: it fails, "
	       "or differs, natively, too.\n\n"
	       "  --memory SIZE           in a memory control group of this "
	       "size\n"
	       "  --rounds N              runs of each, 1 to 99 (default 3)\n"
	       "  --same FILE             that it writes and that must come out "
	       "alike; each\n"
	       "                          run begins with what it holds now\n"
	       "  --cold files|all|no     before each run drop from the page "
	       "cache: the files\n"
	       "                          below the paths (default), "
	       "everything (as root), nothing\n"
	       "  --json                  the result as JSON\n\n"
	       "Without --paths: files and folders that the arguments name. "
	       "For the library:\n\n");
	settings_help();
}

/* ---- options ----------------------------------------------------------- */

static int bad(const char *option, const char *value, const char *what)
{
	fprintf(stderr, NAME ": --%s %s: %s\n", option, value, what);
	return -1;
}

static int set_rounds(const char *value)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (*end || end == value || n < 1 || n > MOST_ROUNDS)
		return bad("rounds", value, "not a number from 1 to 99");
	rounds = (unsigned)n;
	return 0;
}

static int set_memory(const char *value)
{
	if (fm_parse_size(value, fm_memory_limit(), &all.memory) ||
	    all.memory < 4 << 20)
		return bad("memory", value, "not a size of 4M or more");
	return 0;
}

static int set_cold(const char *value)
{
	int how = cold_parse(value);

	if (how < 0)
		return bad("cold", value, "not one of files, all, no");
	all.cold = (enum cold)how;
	return 0;
}

static int add_same(const char *value)
{
	if (all.files == MOST_SAME)
		return bad("same", value, "more than 16 files");
	all.same[all.files++].path = value;
	return 0;
}

static int take(int c)
{
	if (c == OPT_JSON) {
		json = true;
		return 0;
	}
	if (c == OPT_MEMORY)
		return set_memory(optarg);
	if (c == OPT_ROUNDS)
		return set_rounds(optarg);
	if (c == OPT_SAME)
		return add_same(optarg);
	if (c == OPT_COLD)
		return set_cold(optarg);
	return settings_take(NAME, c, optarg);
}

/* ---- the environments -------------------------------------------------- */

/* What the program has without us; taken before anything is set. */
static void keep_environment(void)
{
	size_t n = 0, m = 0;

	while (environ[n])
		n++;
	native_environment = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "FASTMAP_", 8))
			native_environment[m++] = environ[i];
}

/* 0, or -1: nothing would be served. */
static int look_ahead(char **argv)
{
	const int guessed = stage_paths(argv, &program);

	all.guessed = guessed > 0;
	all.paths = getenv("FASTMAP_PATHS");
	return guessed < 0 ? -1 : 0;
}

/* ---- rounds ------------------------------------------------------------ */

struct turn {
	unsigned round, number;
	enum side side;
};

static const char *const side_names[] = { "native", "fastmap" };

static void show(double seconds, void *arg)
{
	const struct turn *t = arg;

	fprintf(stderr, "\r\033[K[%u/%u] round %u, %s: %.1f s", t->number,
		rounds * 2, t->round + 1, side_names[t->side], seconds);
}

static void wipe(void)
{
	if (terminal)
		fprintf(stderr, "\r\033[K");
}

static void note_outcome(struct turn *t)
{
	const struct trial *now = &all.trial[t->side][t->round],
			   *first = &all.trial[NATIVE][0];
	bool *differs = all.differs[t->side];

	differs[ITEM_OUTPUT] |= strcmp(now->sum, first->sum) != 0;
	differs[ITEM_STATUS] |= now->status != first->status;
	for (unsigned i = 0; i < all.files; i++) {
		same_look(&all.same[i]);
		if (t->side == NATIVE && t->round == 0)
			memcpy(all.first[i], all.same[i].now,
			       sizeof(all.first[i]));
		differs[ITEM_FILES + i] |=
			strcmp(all.first[i], all.same[i].now) != 0;
	}
}

static int prepare(void)
{
	uint64_t stayed;
	int err;

	for (unsigned i = 0; i < all.files; i++)
		if (same_put_back(&all.same[i]))
			return -1;
	err = cold_make(all.cold, all.paths ? all.paths : "", &stayed);
	if (err)
		fm_log(FM_LOG_ERROR, "--cold all: %s", strerror(-err));
	if (stayed > all.stayed)
		all.stayed = stayed;
	return err ? -1 : 0;
}

static int run_one(struct turn *t)
{
	const bool ours = t->side == FASTMAP;
	const struct trial_plan plan = {
		.argv = all.argv,
		.env = ours ? environ : native_environment,
		.preloaded = ours,
		.group = *group.dir ? &group : NULL,
		.limit = all.memory,
		.tick = terminal ? show : NULL,
		.arg = t,
	};
	int err;

	if (prepare())
		return -1;
	err = trial_run(&plan, &all.trial[t->side][t->round]);
	wipe();
	if (err && err != -EINTR)
		fm_log(FM_LOG_ERROR, "%s: %s", all.argv[0], strerror(-err));
	if (err)
		return -1;
	note_outcome(t);
	if (ours)
		served_take(folder, &all.served);
	return 0;
}

/* Who goes first takes turns, too: what drifts meanwhile hits both. The first
 * is native: it is what the others are held against. */
static int run_round(unsigned round)
{
	for (unsigned i = 0; i < 2; i++) {
		struct turn t = { .round = round, .number = round * 2 + i + 1,
				  .side = (enum side)((round + i) % 2) };

		if (run_one(&t))
			return -1;
	}
	all.rounds = round + 1;
	if (!json || terminal)
		fprintf(stderr, "round %u: native %.2f s, fastmap %.2f s\n",
			round + 1, all.trial[NATIVE][round].seconds,
			all.trial[FASTMAP][round].seconds);
	return 0;
}

/* ---- from the beginning to the end ------------------------------------- */

static int begin(void)
{
	if (all.memory && group_find(&group, &all.no_memory) == 0)
		all.no_memory = NULL;
	if (all.cold == COLD_FILES && !all.paths) {
		fm_log(FM_LOG_WARN, "the page cache is not dropped: the paths "
		       "are in a policy file (--paths, or --cold all)");
		all.cold = COLD_NO;
	}
	for (unsigned i = 0; i < all.files; i++)
		if (same_keep(&all.same[i]))
			return -1;
	return stage_folder(folder);
}

/* Interrupted: files that it writes are as they were. */
static void end(void)
{
	struct served s;

	for (unsigned i = 0; i < all.files; i++) {
		if (trial_signal() && same_look(&all.same[i]) == 0)
			same_put_back(&all.same[i]);
		same_end(&all.same[i]);
	}
	if (*folder) {
		served_take(folder, &s);
		rmdir(folder);
	}
	group_forget(&group);
}

static void die_by(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int compare(void)
{
	int failed;

	trial_begin();
	failed = begin();
	for (unsigned i = 0; i < rounds && !failed; i++)
		failed = run_round(i);
	end();
	if (trial_signal())
		die_by(trial_signal());
	if (failed)
		return 2;
	if (json)
		report_json(&all);
	else
		report_table(&all);
	if (too_little_memory(&all) || differs_natively(&all))
		return 2;
	if (!same_output(&all))
		return 1;
	return fails_natively(&all) ? 2 : 0;
}

static int start(char **argv)
{
	static char real[PATH_MAX];
	int err = program_find(argv[0], &program);

	if (err) {
		fprintf(stderr, "fastmap: %s: %s\n", argv[0], strerror(err));
		return 2;
	}
	if (settings_library(real) || look_ahead(argv) ||
	    settings_preload(real))
		return 2;
	all.argv = argv;
	all.library = real;
	return compare();
}

int cmd_compare(int argc, char **argv)
{
	int c;

	stage_leave_library(argv - 1); /* all of main's */
	keep_environment();
	terminal = isatty(2);
	argv[0] = NAME; /* getopt_long's messages begin with it */
	while ((c = getopt_long(argc, argv, "+h",
				settings_options(own_options), NULL)) != -1) {
		if (c == 'h') {
			help();
			return 0;
		}
		if (c == '?' || take(c))
			return 2;
	}
	if (optind >= argc) {
		fprintf(stderr, NAME ": no program given; see --help\n");
		return 2;
	}
	return start(argv + optind);
}
