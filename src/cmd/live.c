/* SPDX-License-Identifier: MIT */
/* live.c - running processes: asked by name, by process id or by socket. */
#include "live.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/control.h"
#include "base/visible.h"
#include "cmd.h"
#include "live_priv.h"
#include "shown.h"

#define ANSWER_MS 10000 /* who answers at all does it in milliseconds */
#define STEP_MS 30000   /* what takes long, for each step */
#define LOOK_MS 1000    /* is it stopped? Two looks in a row say so */
#define LIST_MS 1000    /* nor shall it keep the others from being listed */
#define SHORT_MS 50     /* the less who seems to be stopped */
#define MOST ((size_t)256 << 20) /* bytes: no answer is that long */
#define JOB_MS 3600000  /* what may take long, as long as it goes on */
#define STEPS 1000      /* in which that is seen */

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* By a signal, or a debugger. 0: who it is is not known, or it has no number
 * here, in this pid namespace. */
static bool is_stopped(pid_t pid)
{
	char path[32], text[512] = "", *state;
	FILE *f;

	if (!pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	state = strrchr(text, ')'); /* the name may have any byte */
	return state && (!strncmp(state, ") T", 3) ||
			 !strncmp(state, ") t", 3));
}

/* ---- a connection ------------------------------------------------------- */

/* connect(2) waits for LOOK_MS, or not at all, where too many wait. */
static int new_socket(bool waits)
{
	const struct timeval tv = { .tv_sec = LOOK_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
			(waits ? 0 : SOCK_NONBLOCK), 0);

	if (fd >= 0 && waits)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	return fd;
}

/* A process that is stopped leaves connections waiting, a few until there is no
 * room for more: then it is waited for, `ms` at most, unless it is seen to be
 * stopped. */
static int connect_within(int fd, const struct sockaddr_un *addr, pid_t pid,
			  int ms)
{
	const int64_t until = now_ms() + ms;
	int err, stopped = 0;

	do {
		err = connect(fd, (const struct sockaddr *)addr,
			      sizeof(*addr)) ? errno : 0;
		stopped = err && is_stopped(pid) ? stopped + 1 : 0;
	} while (err == EAGAIN && now_ms() < until && stopped < 2);
	return err;
}

/* Refused is what connect(2) says of a file that is no socket. `pid`: whose it
 * is, or 0. */
static int connect_to(const char *path, pid_t pid, int ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = new_socket(ms);
	if (fd < 0)
		return fd;
	err = connect_within(fd, &addr, pid, ms);
	if (!err)
		return fd;
	err = err == ECONNREFUSED && !is_socket(path) ? ENOTSOCK : err;
	close(fd);
	errno = err;
	return -1;
}

/* Where everybody may leave sockets, one under a process's number need not be
 * that process's. */
static bool is_of(int fd, const struct live_process *p)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       peer.uid == p->uid && (!peer.pid || peer.pid == p->pid);
}

/* ---- who ---------------------------------------------------------------- */

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

static bool is_meant(const struct live_process *p, const char *who)
{
	return is_number(who) ? p->pid == atol(who) : !strcmp(p->name, who);
}

static void say_none(const char *who, size_t meant)
{
	if (meant)
		fprintf(stderr, "fastmap: %zu processes run %s: name one by "
			"its process id (fastmap ps)\n", meant, who);
	else if (!is_number(who))
		fprintf(stderr, "fastmap: no process under the library runs "
			"%s (fastmap ps lists them)\n", who);
	else if (live_runs(atol(who)))
		fprintf(stderr, "fastmap: process %s has no control socket: it "
			"maps nothing with the library, another user owns it, "
			"or /run/fastmap was not there (mkdir; see the option "
			"socket)\n", who);
	else
		fprintf(stderr, "fastmap: no process %s\n", who);
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
	say_none(who, meant);
	return -1;
}

int live_connect(const struct live_process *p, int ms)
{
	int fd = connect_to(p->socket, p->pid, ms);

	if (fd < 0 || is_of(fd, p))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

void live_say_failure(const char *socket)
{
	char who[sizeof(((struct live_process *)0)->socket) * 4];

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

int live_dial(const char *who)
{
	struct live_process p = { 0 };
	const char *at = who;
	int fd;

	if (strchr(who, '/')) {
		fd = connect_to(who, 0, ANSWER_MS);
	} else {
		if (find(who, &p))
			return -1;
		at = p.socket;
		fd = live_connect(&p, ANSWER_MS);
	}
	if (fd < 0)
		live_say_failure(at);
	return fd;
}

/* ---- what is said ------------------------------------------------------- */

int live_send(int fd, const char *line)
{
	char text[FM_CONTROL_LINE];
	const int n = snprintf(text, sizeof(text), "%s\n", line);

	if (n >= (int)sizeof(text) || strchr(line, '\n')) {
		errno = n >= (int)sizeof(text) ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

/* Of the whole lines at its beginning those that tell of progress are told and
 * taken out. Returns the highest step of them, or `step`. */
static unsigned take_progress(char *text, size_t *len, unsigned step,
			      void (*progress)(unsigned long, unsigned long))
{
	unsigned long done, total;
	unsigned now;
	char *end;

	while ((end = strchr(text, '\n')) &&
	       sscanf(text, "progress %lu %lu\n", &done, &total) == 2) {
		if (progress)
			progress(done, total);
		now = (unsigned)((double)done / (double)(total ? total : 1) *
				 STEPS);
		if (done <= total && now > step)
			step = now;
		*len -= (size_t)(end + 1 - text);
		memmove(text, end + 1, *len + 1);
	}
	return step;
}

static bool peer_is_stopped(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       is_stopped(peer.pid);
}

/* One read, until `until` at most. */
static ssize_t read_until(int fd, char *buf, size_t size, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t ms;
	int r, stopped = 0;

	do {
		ms = until - now_ms();
		r = poll(&p, 1, ms > LOOK_MS ? LOOK_MS : ms > 0 ? (int)ms : 0);
		if (r > 0)
			return read(fd, buf, size);
		stopped = peer_is_stopped(fd) ? stopped + 1 : 0;
	} while (!r && ms > LOOK_MS && stopped < 2);
	if (!r)
		errno = EAGAIN;
	return -1;
}

static bool more(char **text, size_t *size)
{
	void *p = *size < MOST ? realloc(*text, *size * 2) : NULL;

	if (!p) {
		errno = ENOMEM;
		return false;
	}
	*text = p;
	*size *= 2;
	return true;
}

/* `ms`: for all of it; with `job` for each step that it goes on by, and JOB_MS
 * for all. */
static char *talk(int fd, const char *line, int ms, bool job,
		  void (*progress)(unsigned long, unsigned long))
{
	size_t size = 1 << 16, len = 0;
	char *text = malloc(size);
	const int64_t begin = now_ms();
	int64_t until = begin + ms;
	unsigned step = 0, was;
	ssize_t n = text && !live_send(fd, line) ? 1 : -1;

	while (n > 0) {
		if (size - len < 2 && !more(&text, &size)) {
			n = -1;
			break;
		}
		n = read_until(fd, text + len, size - len - 1, until);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0) {
			text[len += (size_t)n] = 0;
			was = step;
			step = take_progress(text, &len, step, progress);
			if (job && step > was && now_ms() < begin + JOB_MS)
				until = now_ms() + ms;
		}
	}
	close(fd);
	if (text && !n && len)
		return text;
	if (text && !n)
		errno = ECONNRESET;
	free(text);
	return NULL;
}

char *live_talk(int fd, const char *line,
		void (*progress)(unsigned long done, unsigned long total))
{
	return talk(fd, line, STEP_MS, true, progress);
}

static char *ask(const char *who, const char *line, bool job,
		 void (*progress)(unsigned long, unsigned long))
{
	int fd = live_dial(who);
	char *text = fd < 0 ? NULL :
			      talk(fd, line, job ? STEP_MS : ANSWER_MS, job,
				   progress);

	if (!text && fd >= 0)
		live_say_failure(who);
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

json_t *live_stats_of(const struct live_process *p)
{
	const bool stopped = is_stopped(p->pid);
	int fd = live_connect(p, stopped ? 0 : LIST_MS);
	char *text = fd < 0 ? NULL :
			      talk(fd, "stats", stopped ? SHORT_MS : LIST_MS,
				   false, NULL);
	json_t *doc = text ? shown_json(json_loads(text, 0, NULL)) : NULL;

	free(text);
	return doc;
}

/* ---- what takes long ---------------------------------------------------- */

#define BAR 40    /* characters, */
#define BESIDE 10 /* and those beside it: a line never breaks */

static bool drawn;

static void draw(unsigned long done, unsigned long total)
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
