/* SPDX-License-Identifier: MIT */
/* live.c - running processes: asked by name, by process id or by socket. */
#include "live.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/visible.h"
#include "call.h"
#include "cmd.h"
#include "live_priv.h"
#include "shown.h"

#define STEP_MS 30000   /* what takes long, for each step */

/* ---- who ---------------------------------------------------------------- */

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* By its first argument, as ps and top have it, or by its file, as why has
 * it. */
static bool is_meant(const struct live_process *p, const char *who)
{
	return is_number(who) ? p->pid == atol(who) :
				!strcmp(p->name, who) ||
				live_is_file(p->pid, who);
}

static void live_say_none(const char *who, size_t meant)
{
	if (meant)
		fprintf(stderr, "fastmap: %zu processes run %s: name one by "
			"its process id (fastmap ps)\n", meant, who);
	else if (!is_number(who))
		fprintf(stderr, "fastmap: no process under the library runs "
			"%s (fastmap ps lists them)\n", who);
	else if (!live_runs(atol(who)))
		fprintf(stderr, "fastmap: no process %s\n", who);
	else
		live_say_unheard(atol(who));
}

/* -1: none, or several; said. */
static int find(const char *who, struct live_process *ret)
{
	struct live_process *all;
	size_t n = live_list(&all), meant = 0;

	for (size_t i = 0; i < n; i++)
		if (is_meant(&all[i], who)) {
			*ret = all[i];
			meant++;
		}
	free(all);
	if (!meant && is_number(who) && live_named_socket(atol(who), ret))
		meant = 1;
	if (meant == 1)
		return 0;
	live_say_none(who, meant);
	return -1;
}

void live_say_failure(const char *socket)
{
	char who[sizeof(((struct live_process *)0)->socket) * 4];

	if ((errno == ENOENT || errno == ECONNREFUSED) && is_number(socket) &&
	    live_runs(atol(socket))) {
		live_say_unheard((pid_t)atol(socket));
		return;
	}
	fm_visible(socket, false, who, sizeof(who));
	if (errno == EAGAIN)
		fprintf(stderr, "fastmap: %s does not answer: is it stopped?\n",
			who);
	else if (errno == ECONNRESET || errno == EPIPE)
		fprintf(stderr, "fastmap: %s: it has ended, or does not answer "
			"this user\n", who);
	else
		fprintf(stderr, "fastmap: %s: %m\n", who);
}

int live_find(const char *who, struct live_process *ret)
{
	if (!strchr(who, '/'))
		return find(who, ret);
	*ret = (struct live_process){ .pid = 0 };
	if (strlen(who) < sizeof(ret->socket)) {
		strcpy(ret->socket, who);
		return 0;
	}
	errno = ENAMETOOLONG;
	live_say_failure(who);
	return -1;
}

/* Who listens there is who is asked from now on. */
int live_meet(const char *who, struct live_process *ret)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int err, fd = live_find(who, ret) ? -2 : call_connect(ret);

	if (fd == -1)
		live_say_failure(who);
	if (fd < 0)
		return -1;
	err = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	close(fd);
	if (err)
		return -1;
	ret->pid = peer.pid;
	ret->uid = peer.uid;
	return 0;
}

/* ---- what is said ------------------------------------------------------- */

/* The answer as it is; NULL: said why. */
static char *talk(const char *who, const char *line, bool job,
		  void (*progress)(unsigned long, unsigned long, void *))
{
	struct live_process p;
	const struct call_plan plan = {
		.of = &p, .line = line, .ms = job ? STEP_MS : CALL_ANSWER_MS,
		.job = job, .progress = progress,
	};
	char *text;

	if (live_find(who, &p))
		return NULL;
	text = call_wait(&plan);
	if (!text)
		live_say_failure(who);
	return text;
}

char *live_talk(const char *who, const char *line)
{
	return talk(who, line, true, NULL);
}

static char *ask(const char *who, const char *line, bool job,
		 void (*progress)(unsigned long, unsigned long, void *))
{
	char *text = talk(who, line, job, progress);

	if (!text || strncmp(text, "error: ", 7))
		return text;
	fprintf(stderr, "fastmap: %s: ", who);
	shown_lines(text + 7, stderr);
	free(text);
	return NULL;
}

char *live_ask(const char *who, const char *line)
{
	return ask(who, line, false, NULL);
}

json_t *live_stats(const char *who)
{
	char *text = live_ask(who, "stats");
	json_error_t e;
	json_t *doc = text ? shown_json(json_loads(text, 0, &e)) : NULL;

	if (text && !doc) {
		fprintf(stderr, "fastmap: %s: its statistics are cut off: "
			"line %d: ", who, e.line);
		shown_lines(e.text, stderr);
		fputc('\n', stderr);
	}
	free(text);
	return doc;
}

/* ---- what takes long ---------------------------------------------------- */

#define BAR 40    /* characters, */
#define BESIDE 10 /* and those beside it: a line never breaks */

static bool drawn;

static void draw(unsigned long done, unsigned long total, void *arg)
{
	static const char full[BAR + 1] =
		"########################################";
	const unsigned width = shown_width(2, 80);
	const int bar = width < BAR + BESIDE ?
			width < BESIDE ? 0 : (int)(width - BESIDE) : BAR;
	const double part = total ? (double)done / (double)total : 0;

	fprintf(stderr, "\r[%-*.*s] %3.0f %%", bar,
		(int)((part < 1 ? part : 1) * bar), full,
		(part < 1 ? part : 1) * 100);
	fflush(stderr);
	drawn = true;
}

/* The bar does not stay. */
static void erase(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = false;
}

int live_do(const char *who, const char *line)
{
	char *text = ask(who, line, true, shown_draws(2) ? draw : NULL);

	erase();
	if (!text)
		return 1;
	if (!strncmp(text, "ok ", 3))
		shown_lines(text + 3, stdout);
	else if (strcmp(text, "ok\n"))
		shown_lines(text, stdout);
	free(text);
	return 0;
}

int live_word(int argc, char **argv, const char *help, const char *word)
{
	int r = cmd_options(argc, argv, 1, 1, help);

	return r >= 0 ? r : live_do(argv[optind], word);
}
