/* SPDX-License-Identifier: MIT */
/* top.c - fastmap top: what running processes do, on a terminal. */
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uv.h>

#include "cmd.h"
#include "loop.h"
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
	int reverse, once;
	unsigned width;
};

/* ---- options ----------------------------------------------------------- */

static bool top_refuse(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "fastmap: top: --%s %s: %s\n", option, value, want);
	return false;
}

static const char *const names[TOP_COLUMNS] = {
	"pid", "program", "size", "res", "dirty", "faults", "hit", "read",
	"write", "p50", "p99", "server", "file", "why",
};

static bool refuse_column(const char *name)
{
	char want[128] = "";
	size_t n = 0;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		n += (size_t)snprintf(want + n, sizeof(want) - n, "%s%s",
				      c ? ", " : "", names[c]);
	return top_refuse("sort", name, want);
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

static bool top_take_option(void *arg, int c, const char *value)
{
	struct options *o = arg;
	double v;

	switch (c) {
	case 'i':
		return cmd_between(value, SHORTEST, LONGEST, &o->interval) ||
			top_refuse("interval", value, "seconds, 0.1 to 3600");
	case 's':
		return find_column(value, &o->by) || refuse_column(value);
	default:
		if (!cmd_between(value, 20, 500, &v) || v != (unsigned)v)
			return top_refuse("width", value, "columns, 20 to 500");
		o->width = (unsigned)v;
		return true;
	}
}

/* ---- time -------------------------------------------------------------- */

static double top_seconds(void)
{
	uv_update_time(uv_default_loop());
	return (double)uv_now(uv_default_loop()) / 1000;
}

static uint64_t ms_of(double s)
{
	return s > 0 ? (uint64_t)(s * 1000 + 0.5) : 0;
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
		if (peers->peer[i]->now)
			t->process[n++] = peers->peer[i]->now;
	t->view.process = t->process;
	t->view.processes = n;
	t->view.row = top_rows_new(t->process, n, &t->view.rows);
	top_rows_sort(t->view.row, t->view.rows, t->view.by, t->view.reverse);
}

/* ---- once -------------------------------------------------------------- */

static void top_pass(uv_timer_t *t)
{
	*(bool *)t->data = true;
}

/* For so long, or until all have answered. */
static void top_wait_for(const struct top_peers *t, uint64_t ms, bool answers)
{
	bool over = false;
	uv_timer_t timer = { .data = &over };

	uv_timer_init(uv_default_loop(), &timer);
	uv_timer_start(&timer, top_pass, ms, 0);
	while (!over && !(answers && !t->asked))
		loop_turn();
	loop_close((uv_handle_t *)&timer);
}

static void top_ask_all(struct top_peers *peers)
{
	top_peers_ask(peers);
	top_wait_for(peers, ANSWER_MS, true);
}

static unsigned width_of(const struct options *o)
{
	const unsigned w = shown_width(STDOUT_FILENO, 200);

	return o->width ? o->width : w < 20 ? 200 : w;
}

/* Without the blanks at its end. */
static void top_print_line(wchar_t *line)
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
	top_print_line(line);
	top_head_sums(v, columns, line);
	top_print_line(line);
	top_head_rates(v, columns, line);
	top_print_line(line);
	putchar('\n');
	top_fit(columns, v->many, v->row, v->rows, width);
	top_line(NULL, width, line);
	top_print_line(line);
	for (unsigned i = 0; i < v->rows; i++) {
		top_line(&v->row[i], width, line);
		top_print_line(line);
	}
}

/* What happens from the first look to the second. */
static int top_once(const struct options *o, struct top_peers *peers)
{
	struct table t = { .view = { .by = o->by, .reverse = o->reverse,
				     .interval = o->interval,
				     .many = peers->many } };

	top_ask_all(peers);
	if (top_peers_silent(peers) && !peers->many) {
		fprintf(stderr, "fastmap: %s\n", peers->said);
		return 1;
	}
	top_wait_for(peers, ms_of(o->interval), false);
	top_ask_all(peers);
	fill_table(&t, peers);
	print_table(&t.view, width_of(o));
	top_peers_silent(peers);
	if (*peers->said)
		fprintf(stderr, "fastmap: %s\n", peers->said);
	free_table(&t);
	return peers->many || peers->n ? 0 : 1;
}

/* ---- on a terminal ----------------------------------------------------- */

struct screen {
	struct table t;
	struct top_peers *peers;
	struct top_action action;
	struct top_key selected;
	uv_timer_t look;
	uv_poll_t keys;
	uv_signal_t resize, end[3];
	double asked; /* s, when */
	bool ended;
	int status;
};

/* What was said long ago is no news any more. */
static void forget_message(struct table *t)
{
	char *now = t->view.message;

	if (strcmp(now, t->message))
		t->since = top_seconds();
	if (top_seconds() > t->since + MESSAGE_S)
		*now = 0;
	snprintf(t->message, sizeof(t->message), "%s", now);
}

static void top_refill(struct screen *s)
{
	fill_table(&s->t, s->peers);
	select_again(&s->t.view, &s->selected);
}

static void top_show(void *arg)
{
	struct screen *s = arg;
	struct top_view *v = &s->t.view;

	top_refill(s);
	if (*s->peers->said) {
		snprintf(v->message, sizeof(v->message), "%s", s->peers->said);
		*s->peers->said = 0;
		s->t.since = top_seconds();
	}
	forget_message(&s->t);
	top_screen_draw(v);
	if (v->selected < v->rows)
		s->selected = top_key_of(&v->row[v->selected]);
}

static void top_look(uv_timer_t *timer)
{
	struct screen *s = timer->data;

	s->asked = top_seconds();
	top_peers_ask(s->peers);
	uv_timer_start(timer, top_look, ms_of(s->t.view.interval), 0);
	top_show(s);
}

/* The interval may have changed, and paused nothing is asked. */
static void set_time(struct screen *s)
{
	if (s->t.view.paused)
		uv_timer_stop(&s->look);
	else
		uv_timer_start(
			&s->look, top_look,
			ms_of(s->asked + s->t.view.interval - top_seconds()),
			0);
}

static void top_end(struct screen *s, int status)
{
	s->ended = true;
	s->status = status;
}

static void take_keys(struct screen *s)
{
	struct top_view *v = &s->t.view;
	int key;

	top_refill(s);
	while (!s->ended && (key = top_screen_key()) >= 0) {
		if (!top_keys_press(v, s->peers, &s->action, key))
			top_end(s, 0);
		if (v->selected < v->rows)
			s->selected = top_key_of(&v->row[v->selected]);
	}
	set_time(s);
	top_show(s);
}

/* An error, or an end: the terminal has gone. */
static void on_keys(uv_poll_t *p, int status, int events)
{
	struct winsize size;

	if (status < 0 || (events & UV_DISCONNECT) ||
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
		top_end(p->data, 1);
	else
		take_keys(p->data);
}

static void on_resize(uv_signal_t *signal, int number)
{
	top_screen_resize();
	top_show(signal->data);
}

static void on_end(uv_signal_t *signal, int number)
{
	top_end(signal->data, 128 + number);
}

/* The screen is as it was whatever ends us. */
static void watch_signals(struct screen *s, uv_loop_t *loop)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };

	uv_signal_init(loop, &s->resize);
	s->resize.data = s;
	uv_signal_start(&s->resize, on_resize, SIGWINCH);
	for (unsigned i = 0; i < 3; i++) {
		uv_signal_init(loop, &s->end[i]);
		s->end[i].data = s;
		uv_signal_start(&s->end[i], on_end, ends[i]);
	}
}

/* The loop sets O_NONBLOCK, which all share who have this terminal from the
 * same open(2), be it our shell: it has one of its own. */
static int keys_fd(void)
{
	int fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? STDIN_FILENO : fd;
}

static void top_run(struct screen *s)
{
	uv_loop_t *loop = uv_default_loop();
	const int flags = fcntl(STDIN_FILENO, F_GETFL);

	s->peers->news = s->action.news = top_show;
	s->peers->arg = s->action.arg = s;
	s->action.view = &s->t.view;
	watch_signals(s, loop);
	uv_timer_init(loop, &s->look);
	s->look.data = s;
	uv_timer_start(&s->look, top_look, 0, 0);
	uv_poll_init(loop, &s->keys, keys_fd());
	s->keys.data = s;
	uv_poll_start(&s->keys, UV_READABLE | UV_DISCONNECT, on_keys);
	while (!s->ended)
		loop_turn();
	call_cancel(s->action.call);
	fcntl(STDIN_FILENO, F_SETFL, flags);
}

static int top_watch(const struct options *o, struct top_peers *peers)
{
	/* for all of the loop's life */
	static struct screen s;

	s = (struct screen){ .peers = peers };
	s.t.view = (struct top_view){ .by = o->by, .reverse = o->reverse,
				      .interval = o->interval,
				      .many = peers->many };
	if (top_screen_begin())
		return 2;
	top_run(&s);
	top_screen_end();
	free_table(&s.t);
	return s.status;
}

int cmd_top(int argc, char **argv)
{
	static struct options o = { .interval = 2, .by = TOP_FAULTS_S };
	static const struct option known[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "sort", required_argument, NULL, 's' },
		{ "width", required_argument, NULL, 'w' },
		CMD_FLAG("reverse", o.reverse), CMD_FLAG("once", o.once),
		CMD_HELP, { 0 },
	};
	struct top_peers peers;
	int r = cmd_values(argc, argv, known, 0, 1, help, top_take_option, &o);

	if (r >= 0)
		return r;
	setlocale(LC_ALL, "");
	if (!o.once && top_terminal_check())
		return 2;
	if (top_peers_begin(&peers, argv[optind]))
		return 1;
	r = o.once ? top_once(&o, &peers) : top_watch(&o, &peers);
	top_peers_end(&peers);
	return r;
}
