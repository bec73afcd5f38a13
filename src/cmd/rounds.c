/* SPDX-License-Identifier: MIT */
#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "policy.h"
#include "shown.h"
#include "stage.h"

/* ---- options ----------------------------------------------------------- */

static int bad(const char *command, const char *option, const char *value,
	       const char *what)
{
	fprintf(stderr, "%s: --%s %s: %s\n", command, option, value, what);
	return -1;
}

static int set_rounds(struct rounds *r, const char *command, const char *value,
		      unsigned least)
{
	char *end, want[64];
	long n = strtol(value, &end, 10);

	snprintf(want, sizeof(want), "not a number from %u to %d", least,
		 MOST_ROUNDS);
	if (*end || end == value || n < (long)least || n > MOST_ROUNDS)
		return bad(command, "rounds", value, want);
	r->n = (unsigned)n;
	return 0;
}

static int set_memory(struct rounds *r, const char *command, const char *value)
{
	if (fm_parse_size(value, fm_memory_limit(), &r->c.memory) ||
	    r->c.memory < 4 << 20)
		return bad(command, "memory", value, "not a size of 4M or more");
	return 0;
}

static int set_cold(struct rounds *r, const char *command, const char *value)
{
	int how = cold_parse(value);

	if (how < 0)
		return bad(command, "cold", value, "not one of files, all, no");
	r->c.cold = (enum cold)how;
	return 0;
}

static int add_same(struct rounds *r, const char *command, const char *value)
{
	if (r->c.files == MOST_SAME)
		return bad(command, "same", value, "more than 16 files");
	r->c.same[r->c.files++].path = value;
	return 0;
}

int rounds_take(struct rounds *r, const char *command, int c, const char *value,
		unsigned least)
{
	switch (c) {
	case ROUNDS_MEMORY:
		return set_memory(r, command, value);
	case ROUNDS_N:
		return set_rounds(r, command, value, least);
	case ROUNDS_SAME:
		return add_same(r, command, value);
	default:
		return set_cold(r, command, value);
	}
}

static char **rounds_native(void)
{
	size_t n = 0, m = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; env && i < n; i++)
		if (strncmp(environ[i], "FASTMAP_", 8))
			env[m++] = environ[i];
	return env;
}

int rounds_parse(struct rounds *r, const struct settings_command *command,
		 int argc, char **argv)
{
	stage_leave_library(argv - 1); /* all of main's */
	r->native = rounds_native();
	return settings_parse(command, argc, argv);
}

int rounds_program(struct rounds *r, char **argv)
{
	static struct program program;
	static char library[PATH_MAX];
	int guessed, err = program_find(argv[0], &program);
	const char *paths;

	if (err)
		fprintf(stderr, "fastmap: %s: %s\n", argv[0], strerror(err));
	if (err || settings_library(library))
		return -1;
	guessed = stage_paths(argv, &program);
	if (guessed < 0 || settings_preload_heap(library) ||
	    settings_preload(library))
		return -1;
	paths = getenv("FASTMAP_PATHS");
	r->c.argv = argv;
	r->c.library = library;
	r->c.guessed = guessed;
	r->c.paths = paths ? strdup(paths) : NULL;
	return 0;
}

/* ---- one run ----------------------------------------------------------- */

struct turn {
	const struct rounds *of;
	unsigned round, number;
	enum side side;
};

static const char *const side_names[] = { "native", "fastmap" };

static void rounds_show(double seconds, void *arg)
{
	const struct turn *t = arg;

	fprintf(stderr, "\r\033[K[%u/%u] round %u, %s: %.1f s", t->number,
		t->of->n * 2, t->round + 1, side_names[t->side], seconds);
}

static void note_outcome(struct comparison *c, const struct turn *t)
{
	const struct trial *now = &c->trial[t->side][t->round],
			   *first = &c->trial[NATIVE][0];
	bool *differs = c->differs[t->side];

	differs[ITEM_OUTPUT] |= strcmp(now->sum, first->sum) != 0;
	differs[ITEM_STATUS] |= now->status != first->status;
	for (unsigned i = 0; i < c->files; i++) {
		same_look(&c->same[i]);
		if (t->side == NATIVE && t->round == 0)
			memcpy(c->first[i], c->same[i].now,
			       sizeof(c->first[i]));
		differs[ITEM_FILES + i] |=
			strcmp(c->first[i], c->same[i].now) != 0;
	}
}

int rounds_prepare(struct rounds *r)
{
	struct comparison *c = &r->c;
	uint64_t stayed;
	int err;

	for (unsigned i = 0; i < c->files; i++)
		if (same_put_back(&c->same[i]))
			return -1;
	err = cold_make(c->cold, c->paths ? c->paths : "", &stayed);
	if (err)
		fm_log(FM_LOG_ERROR, "--cold all: %s", strerror(-err));
	if (stayed > c->stayed)
		c->stayed = stayed;
	return err ? -1 : 0;
}

static int rounds_run_one(struct rounds *r, struct turn *t)
{
	const bool ours = t->side == FASTMAP, terminal = shown_draws(2);
	struct comparison *c = &r->c;
	const struct trial_plan plan = {
		.argv = c->argv,
		.env = ours ? r->ours : r->native,
		.preloaded = ours,
		.group = *r->group.dir ? &r->group : NULL,
		.limit = c->memory,
		.tick = terminal ? rounds_show : NULL,
		.arg = t,
	};
	int err;

	if (rounds_prepare(r))
		return -1;
	err = trial_run(&plan, &c->trial[t->side][t->round]);
	if (terminal)
		fprintf(stderr, "\r\033[K");
	if (err && err != -EINTR)
		fm_log(FM_LOG_ERROR, "%s: %s", c->argv[0], strerror(-err));
	if (err)
		return -1;
	note_outcome(c, t);
	if (ours)
		served_take(r->folder, &c->served);
	return 0;
}

/* ---- all of them ------------------------------------------------------- */

/* Who goes first takes turns, too: what drifts meanwhile hits both. The first
 * is native: it is what the others are held against. */
static int run_round(struct rounds *r, unsigned round)
{
	struct comparison *c = &r->c;

	for (unsigned i = 0; i < 2; i++) {
		struct turn t = { .of = r, .round = round,
				  .number = round * 2 + i + 1,
				  .side = (enum side)((round + i) % 2) };

		if (rounds_run_one(r, &t))
			return -1;
	}
	c->rounds = round + 1;
	if (!r->quiet || isatty(2))
		fprintf(stderr, "round %u: native %.2f s, fastmap %.2f s\n",
			round + 1, c->trial[NATIVE][round].seconds,
			c->trial[FASTMAP][round].seconds);
	return 0;
}

int rounds_begin(struct rounds *r)
{
	struct comparison *c = &r->c;

	if (c->memory && group_find(&r->group, &c->no_memory) == 0)
		c->no_memory = NULL;
	for (unsigned i = 0; i < c->files; i++)
		if (same_keep(&c->same[i]))
			return -1;
	return stage_folder(r->folder);
}

/* Interrupted: files that it writes are as they were. */
void rounds_end(struct rounds *r)
{
	struct comparison *c = &r->c;
	struct served s;

	for (unsigned i = 0; i < c->files; i++) {
		if (trial_signal() && same_look(&c->same[i]) == 0)
			same_put_back(&c->same[i]);
		same_end(&c->same[i]);
	}
	if (*r->folder) {
		served_take(r->folder, &s);
		rmdir(r->folder);
	}
	group_forget(&r->group);
}

int rounds_run(struct rounds *r)
{
	int failed = 0;

	for (unsigned i = 0; i < r->n && !failed; i++)
		failed = run_round(r, i);
	return failed;
}
