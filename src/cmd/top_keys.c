/* SPDX-License-Identifier: MIT */
#include "top_keys.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "shown.h"

struct top_key top_key_of(const struct top_row *r)
{
	return (struct top_key){ r->process->pid,
				 r->file ? r->file->device : 0,
				 r->file ? r->file->inode : 0 };
}

bool top_is_row(const struct top_row *r, const struct top_key *key)
{
	const struct top_key is = top_key_of(r);

	return is.pid == key->pid && is.device == key->device &&
	       is.inode == key->inode;
}

static void top_keys_say(struct top_view *v, const char *what, const char *text)
{
	snprintf(v->message, sizeof(v->message), "%s%.*s", what,
		 (int)strcspn(text, "\n"), text);
}

/* ---- what processes are told ------------------------------------------- */

static const char *skip(const char *text, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(text, word, n) ? text : text + n;
}

static void say_progress(unsigned long done, unsigned long total, void *arg)
{
	const struct top_action *a = arg;
	char text[32];

	if (!total)
		return;
	snprintf(text, sizeof(text), "%.0f %%",
		 (double)done / (double)total * 100);
	top_keys_say(a->view, a->what, text);
	a->news(a->arg);
}

/* "33554432 bytes: as much as there is room for now" */
static void say_answer(const struct top_action *a, struct top_view *v,
		       const char *text)
{
	char *rest, buf[SHOWN_NUMBER], more[256];
	const uint64_t bytes = strtoull(text, &rest, 10);

	if (rest == text || strncmp(a->line, "cache ", 6)) {
		top_keys_say(v, a->what,
			     *text && *text != '\n' ? text : "done");
		return;
	}
	snprintf(more, sizeof(more), "%s%s", shown_bytes(bytes, buf),
		 skip(rest, " bytes"));
	top_keys_say(v, a->what, more);
}

static void answer(char *text, int err, void *arg)
{
	struct top_action *a = arg;

	a->call = NULL;
	if (text)
		say_answer(a, a->view, skip(skip(text, "ok"), " "));
	else
		top_keys_say(a->view, a->what,
			     err == ECONNRESET ? "it has ended"
					       : strerror(err));
	free(text);
	a->news(a->arg);
}

static void send_action(struct top_action *a, struct top_view *v,
			struct top_peers *peers)
{
	const struct top_peer *p = top_peers_find(peers, a->pid);
	const struct call_plan plan = {
		.of = p ? &p->of : NULL, .line = a->line, .arg = a,
		.progress = say_progress, .done = answer,
	};

	a->call = p ? call_begin(&plan) : NULL;
	top_keys_say(v, a->what,
		     a->call ? "..."
		     : p     ? strerror(errno)
			     : "it has ended");
}

/* ---- questions --------------------------------------------------------- */

static void top_keys_ask(struct top_action *a, struct top_view *v, int what)
{
	a->asking = what;
	v->question = a->question;
	*v->answer = 0;
}

static void top_keys_answered(struct top_action *a, struct top_view *v,
			      struct top_peers *peers)
{
	switch (a->asking) {
	case TOP_ASK_CACHE:
		snprintf(a->line, sizeof(a->line), "cache %s", v->answer);
		send_action(a, v, peers);
		break;
	case TOP_ASK_INTERVAL:
		if (!cmd_between(v->answer, 0.1, 3600, &v->interval))
			top_keys_say(v, "interval: ", "0.1 to 3600 seconds");
		break;
	default:
		send_action(a, v, peers);
	}
}

static void close_question(struct top_action *a, struct top_view *v)
{
	v->question = NULL;
	a->asking = TOP_ASK_NOTHING;
}

static void type(struct top_view *v, int key)
{
	const size_t n = strlen(v->answer);

	if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		v->answer[n ? n - 1 : 0] = 0;
	} else if (key > ' ' && key < 127 && n + 1 < sizeof(v->answer)) {
		v->answer[n] = (char)key;
		v->answer[n + 1] = 0;
	}
}

static void press_in_question(struct top_action *a, struct top_view *v,
			      struct top_peers *peers, int key)
{
	const bool sure = a->asking == TOP_ASK_SURE;

	if (key == 27 || (sure && key != 'y' && key != 'Y')) {
		if (key == KEY_RESIZE)
			return;
		close_question(a, v);
	} else if (sure || key == '\n' || key == '\r' || key == KEY_ENTER) {
		if (sure || *v->answer)
			top_keys_answered(a, v, peers);
		close_question(a, v);
	} else {
		type(v, key);
	}
}

/* ---- keys -------------------------------------------------------------- */

static void move_to(struct top_view *v, long row)
{
	const long last = v->rows ? (long)v->rows - 1 : 0;

	v->selected = (unsigned)(row < 0 ? 0 : row > last ? last : row);
	v->follows = v->selected != 0;
}

static bool press_move(struct top_view *v, int key)
{
	const long at = v->selected, page = top_screen_page();

	switch (key) {
	case KEY_UP: case 'k': move_to(v, at - 1); break;
	case KEY_DOWN: case 'j': move_to(v, at + 1); break;
	case KEY_PPAGE: move_to(v, at - page); break;
	case KEY_NPAGE: move_to(v, at + page); break;
	case KEY_HOME: move_to(v, 0); break;
	case KEY_END: move_to(v, v->rows); break;
	default: return false;
	}
	return true;
}

/* The next column to that side that the screen shows. */
static void sort_by_next(struct top_view *v, int step)
{
	unsigned width[TOP_COLUMNS];
	int c = (int)v->by;

	top_fit(top_screen_columns(), v->many, v->row, v->rows, width);
	do
		c = (c + step + TOP_COLUMNS) % TOP_COLUMNS;
	while (!width[c]);
	v->by = (enum top_column)c;
}

static bool press_order(struct top_view *v, int key)
{
	switch (key) {
	case '<': case ',': case KEY_LEFT: sort_by_next(v, -1); break;
	case '>': case '.': case KEY_RIGHT: sort_by_next(v, 1); break;
	case 'r': case 'R': v->reverse = !v->reverse; break;
	default: return false;
	}
	move_to(v, 0);
	return true;
}

/* Or in the view of one file. Drawing keeps it within the text. */
static void press_in_help(struct top_view *v, int key)
{
	const unsigned page = top_screen_help_page();
	const unsigned back = key == KEY_PPAGE ? page : 1;

	switch (key) {
	case KEY_DOWN: case 'j': v->help_at++; break;
	case KEY_NPAGE: case ' ': v->help_at += page; break;
	case KEY_UP: case 'k': case KEY_PPAGE:
		v->help_at -= v->help_at < back ? v->help_at : back;
		break;
	default: v->help = v->why = false; break;
	}
}

static bool press_view(struct top_action *a, struct top_view *v, int key)
{
	switch (key) {
	case 'p': case ' ': v->paused = !v->paused; break;
	case 'h': case '?': v->help = true; v->help_at = 0; break;
	case 'w': v->why = true; v->help_at = 0; break;
	case 'i': case 's':
		snprintf(a->question, sizeof(a->question),
			 "seconds between looks (%g now): ", v->interval);
		top_keys_ask(a, v, TOP_ASK_INTERVAL);
		break;
	default: return false;
	}
	return true;
}

static const struct told {
	int key;
	const char *word, *sure; /* sure: what is asked before, or NULL */
} told[] = {
	{ 'd', "demote", "let the kernel serve" },
	{ 't', "promote", NULL },
	{ 'f', "flush", NULL },
	{ 'x', "drop", "drop from the cache" },
};

static void top_keys_tell(struct top_action *a, struct top_view *v,
			  struct top_peers *peers, const struct told *t)
{
	const struct top_row *r = &v->row[v->selected];
	const char *name = strrchr(r->file->path, '/');

	a->pid = r->process->pid;
	snprintf(a->line, sizeof(a->line), "%s %s", t->word, r->file->path);
	snprintf(a->what, sizeof(a->what), "%s %.40s: ", t->word,
		 name ? name + 1 : r->file->path);
	if (t->sure) {
		snprintf(a->question, sizeof(a->question), "%s %.100s? (y/n) ",
			 t->sure, name ? name + 1 : r->file->path);
		top_keys_ask(a, v, TOP_ASK_SURE);
	} else {
		send_action(a, v, peers);
	}
}

static void ask_size(struct top_action *a, struct top_view *v)
{
	const struct top_process *p = v->row[v->selected].process;

	a->pid = p->pid;
	snprintf(a->what, sizeof(a->what), "cache of %d: ", p->pid);
	snprintf(a->question, sizeof(a->question),
		 "cache of %d %.40s (512M, 30%%, auto): ", p->pid, p->program);
	top_keys_ask(a, v, TOP_ASK_CACHE);
}

static void press_tell(struct top_action *a, struct top_view *v,
		       struct top_peers *peers, int key)
{
	const struct told *t = told;

	while (t < told + sizeof(told) / sizeof(*told) && t->key != key)
		t++;
	if (t == told + sizeof(told) / sizeof(*told) && key != 'c')
		return;
	if (a->call)
		top_keys_say(v, a->what, "still under way");
	else if (v->selected >= v->rows)
		top_keys_say(v, "", "nothing is selected");
	else if (key == 'c')
		ask_size(a, v);
	else if (!v->row[v->selected].file)
		top_keys_say(v, "", "this process has no file");
	else
		top_keys_tell(a, v, peers, t);
}

bool top_keys_press(struct top_view *v, struct top_peers *peers,
		    struct top_action *a, int key)
{
	if (key == KEY_RESIZE)
		return true;
	if (v->help || v->why) {
		press_in_help(v, key);
		return true;
	}
	if (v->question) {
		press_in_question(a, v, peers, key);
		return true;
	}
	*v->message = 0;
	if (!press_move(v, key) && !press_order(v, key) &&
	    !press_view(a, v, key))
		press_tell(a, v, peers, key);
	return key != 'q' && key != 'Q' && key != 3;
}
