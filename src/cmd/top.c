/* SPDX-License-Identifier: MIT */
/* top.c - fastmap top: what running processes do, on a terminal. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "shown.h"
#include "top_keys.h"
#include "top_peers.h"
#include "top_screen.h"
#include "top_terminal.h"

#define ANSWER_MS 1500 /* for --once: who is slower is left out */
#define MESSAGE_S 10   /* a message stays for so long */
#define SHORTEST 0.1   /* s */
#define LONGEST 3600

static const char help[] =
	"usage: fastmap top [OPTION...] [WHO]\n"
	"What processes under the library do, for each file: memory, faults,\n"
	"hits, bytes read and written, who serves it and why. WHO is a process\n"
	"id, the name of a program, or a socket; without it all that\n"
	"'fastmap ps' finds. The key h says which keys there are.\n"
	"\n"
	"  --interval SECONDS   between two looks, 0.1 to 3600 (default 2)\n"
	"  --sort COLUMN        pid, program, size, res, dirty, faults, hit, read,\n"
	"                       write, p50, p99, server, file, why\n"
	"  --reverse            the other way round\n"
	"  --once               print what happens in one interval, and end\n"
	"  --width COLUMNS      with --once: of a line (default: the terminal's,\n"
	"                       or 200)\n";

struct options {
	double interval;
	enum top_column by;
	bool reverse, once;
	unsigned width;
};

/* ---- options ----------------------------------------------------------- */

static int refuse(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "fastmap: top: --%s %s: %s\n", option, value, want);
	return 2;
}

static bool between(const char *text, double least, double most, double *ret)
{
	char *end;
	const double v = strtod(text, &end);

	if (end == text || *end || !(v >= least && v <= most))
		return false;
	*ret = v;
	return true;
}

static const char *const names[TOP_COLUMNS] = {
	"pid", "program", "size", "res", "dirty", "faults", "hit", "read",
	"write", "p50", "p99", "server", "file", "why",
};

static int refuse_column(const char *name)
{
	char want[128] = "";
	size_t n = 0;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		n += (size_t)snprintf(want + n, sizeof(want) - n, "%s%s",
				      c ? ", " : "", names[c]);
	return refuse("sort", name, want);
}

static bool find_column(const char *name, enum top_column *ret)
{
	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		if (!strcmp(names[c], name)) {
			*ret = c;
			return true;
		}
	return false;
}

static int take_option(struct options *o, int c, const char *value)
{
	double v;

	switch (c) {
	case 'i':
		return between(value, SHORTEST, LONGEST, &o->interval) ? 0 :
			refuse("interval", value, "seconds, 0.1 to 3600");
	case 's':
		return find_column(value, &o->by) ? 0 :
			refuse_column(value);
	case 'w':
		if (!between(value, 20, 500, &v) || v != (unsigned)v)
			return refuse("width", value, "columns, 20 to 500");
		o->width = (unsigned)v;
		return 0;
	case 'r':
		o->reverse = true;
		return 0;
	case 'o':
		o->once = true;
		return 0;
	}
	if (c != 'h')
		return 2;
	fputs(help, stdout);
	return -1;
}

/* 0, -1: help was asked for, or 2. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "sort", required_argument, NULL, 's' },
		{ "reverse", no_argument, NULL, 'r' },
		{ "once", no_argument, NULL, 'o' },
		{ "width", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, r = 0;

	*o = (struct options){ .interval = 2, .by = TOP_FAULTS_S };
	argv[0] = "fastmap top"; /* getopt_long's messages begin with it */
	while (!r && (c = getopt_long(argc, argv, "+h", known, NULL)) != -1)
		r = take_option(o, c, optarg);
	if (!r && argc - optind > 1)
		r = cmd_usage(help, "too many arguments");
	return r;
}

/* ---- time -------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ms_until(double due)
{
	const double ms = (due - seconds()) * 1000;

	return ms <= 0 ? 0 : ms > 60000 ? 60000 : (int)ms + 1;
}

/* ---- the table, from what is known ------------------------------------- */

struct table {
	struct top_process **process;
	struct top_view view;
	char message[256]; /* what stands there, */
	double since;      /* s, and since when */
};

/* The row that was selected stays so, wherever it has gone. */
static void select_again(struct top_view *v, const struct top_key *key)
{
	for (unsigned i = 0; v->follows && i < v->rows; i++)
		if (top_is_row(&v->row[i], key))
			v->selected = i;
}

static void free_table(struct table *t)
{
	free(t->view.row);
	free(t->process);
	t->view.row = NULL;
	t->process = NULL;
	t->view.rows = t->view.processes = 0;
}

static void fill_table(struct table *t, const struct top_peers *peers)
{
	unsigned n = 0;

	free_table(t);
	t->process = calloc(peers->n + 1, sizeof(*t->process));
	for (unsigned i = 0; t->process && i < peers->n; i++)
		if (peers->peer[i].now)
			t->process[n++] = peers->peer[i].now;
	t->view.process = t->process;
	t->view.processes = n;
	t->view.row = top_rows_new(t->process, n, &t->view.rows);
	top_rows_sort(t->view.row, t->view.rows, t->view.by, t->view.reverse);
}

/* ---- once -------------------------------------------------------------- */

static void wait_answers(struct top_peers *t)
{
	const double due = seconds() + ANSWER_MS / 1000.0;

	while (top_peers_waits(t) && ms_until(due)) {
		struct pollfd p[t->n + 1];
		const unsigned n = top_peers_fds(t, p);

		poll(p, n, ms_until(due));
		top_peers_take(t);
	}
}

static unsigned width_of(const struct options *o)
{
	const unsigned w = shown_width(STDOUT_FILENO, 200);

	return o->width ? o->width : w < 20 ? 200 : w;
}

/* Without the blanks at its end. */
static void print_line(wchar_t *line)
{
	size_t n = wcslen(line);

	while (n && line[n - 1] == L' ')
		line[--n] = 0;
	printf("%ls\n", line);
}

static void print_table(const struct top_view *v, unsigned columns)
{
	unsigned width[TOP_COLUMNS];
	wchar_t line[TOP_LINE];

	top_head_title(v, columns, line);
	print_line(line);
	top_head_sums(v, columns, line);
	print_line(line);
	top_head_rates(v, columns, line);
	print_line(line);
	putchar('\n');
	top_fit(columns, v->many, v->row, v->rows, width);
	top_line(NULL, width, line);
	print_line(line);
	for (unsigned i = 0; i < v->rows; i++) {
		top_line(&v->row[i], width, line);
		print_line(line);
	}
}

/* What happens from the first look to the second. */
static int once(const struct options *o, struct top_peers *peers)
{
	struct table t = { .view = { .by = o->by, .reverse = o->reverse,
				     .interval = o->interval,
				     .many = peers->many } };

	top_peers_ask(peers);
	wait_answers(peers);
	if (top_peers_silent(peers) && !peers->many) {
		fprintf(stderr, "fastmap: %s\n", peers->said);
		return 1;
	}
	usleep((useconds_t)(o->interval * 1e6));
	top_peers_ask(peers);
	wait_answers(peers);
	fill_table(&t, peers);
	print_table(&t.view, width_of(o));
	top_peers_silent(peers);
	if (*peers->said)
		fprintf(stderr, "fastmap: %s\n", peers->said);
	free_table(&t);
	return peers->many || peers->n ? 0 : 1;
}

/* ---- on a terminal ----------------------------------------------------- */

static void refill(struct table *t, struct top_peers *peers,
		   const struct top_key *selected)
{
	fill_table(t, peers);
	select_again(&t->view, selected);
}

/* What was said long ago is no news any more. */
static void forget_message(struct table *t)
{
	char *now = t->view.message;

	if (strcmp(now, t->message))
		t->since = seconds();
	if (seconds() > t->since + MESSAGE_S)
		*now = 0;
	snprintf(t->message, sizeof(t->message), "%s", now);
}

static void show(struct table *t, struct top_peers *peers,
		 struct top_key *selected)
{
	struct top_view *v = &t->view;

	refill(t, peers, selected);
	if (*peers->said) {
		snprintf(v->message, sizeof(v->message), "%s", peers->said);
		*peers->said = 0;
		t->since = seconds();
	}
	forget_message(t);
	top_screen_draw(v);
	if (v->selected < v->rows)
		*selected = top_key_of(&v->row[v->selected]);
}

/* Sleeps until a key, an answer, the time of the next look. */
static void wait_all(const struct top_peers *peers,
		     const struct top_action *action, int ms)
{
	struct pollfd p[peers->n + 2];
	unsigned n = top_peers_fds(peers, p);

	p[n++] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = action->ask.fd, .events = POLLIN };
	poll(p, n, ms);
	/* The terminal has gone. */
	if (p[n - 2].revents & (POLLHUP | POLLERR | POLLNVAL)) {
		top_screen_end();
		exit(1);
	}
}

static bool take_keys(struct table *t, struct top_peers *peers,
		      struct top_action *action, struct top_key *selected)
{
	int key;

	while ((key = top_screen_key()) >= 0) {
		if (!top_keys_press(&t->view, peers, action, key))
			return false;
		if (t->view.selected < t->view.rows)
			*selected = top_key_of(&t->view.row[t->view.selected]);
	}
	return true;
}

static void run(struct table *t, struct top_peers *peers)
{
	struct top_action action = { .ask = TOP_ASK_NONE };
	struct top_key selected = { 0 };
	double due = seconds();

	for (;;) {
		if (!t->view.paused && seconds() >= due) {
			top_peers_ask(peers);
			due = seconds() + t->view.interval;
		}
		wait_all(peers, &action,
			 t->view.paused ? 60000 : ms_until(due));
		top_peers_take(peers);
		refill(t, peers, &selected); /* rows of before have gone */
		top_action_take(&action, &t->view);
		if (!take_keys(t, peers, &action, &selected))
			break;
		show(t, peers, &selected);
		if (t->view.interval + seconds() < due)
			due = seconds() + t->view.interval;
	}
	top_ask_end(&action.ask);
}

static int watch(const struct options *o, struct top_peers *peers)
{
	struct table t = { .view = { .by = o->by, .reverse = o->reverse,
				     .interval = o->interval,
				     .many = peers->many } };

	if (top_screen_begin())
		return 2;
	run(&t, peers);
	top_screen_end();
	free_table(&t);
	return 0;
}

int cmd_top(int argc, char **argv)
{
	struct top_peers peers;
	struct options o;
	int r = take_options(&o, argc, argv);

	if (r)
		return r < 0 ? 0 : r;
	setlocale(LC_ALL, "");
	if (!o.once && top_terminal_check())
		return 2;
	if (top_peers_begin(&peers, argv[optind]))
		return 1;
	r = o.once ? once(&o, &peers) : watch(&o, &peers);
	top_peers_end(&peers);
	return r;
}
