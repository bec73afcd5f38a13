/* SPDX-License-Identifier: MIT */
/*
 * control_socket.c - FASTMAP_SOCKET: one line in, one answer out.
 *
 *	stats          the statistics as JSON
 *	cache SIZE     change the budget ("512M", "30%")
 *	demote PATH    the kernel serves the file until it is taken back;
 *	               without PATH all files
 *	take-back PATH the engine does again, if that is possible
 *	map CELLS PATH which pages are in memory, as JSON (residency.h)
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/fds.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/cache.h"
#include "control_priv.h"
#include "engine.h"
#include "mmap/mmap.h"
#include "policy.h"
#include "residency.h"
#include "stats.h"
#include "vm/vm.h"

#define LINE 512

static int server = -1;

/* Where this process listens, for who removes it at the end. */
static struct {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev;
	ino_t ino; /* 0: it does not */
} bound;

static struct client {
	int fd; /* -1: nobody */
	char line[LINE];
	size_t len;
	char *answer; /* NULL: still to be asked */
	size_t size, sent;
} clients[FM_CONTROL_CLIENTS] = {
	[0 ... FM_CONTROL_CLIENTS - 1] = { .fd = -1 },
};

static void hang_up(struct client *c)
{
	fm_fd_drop(c->fd);
	fm_free(c->answer);
	*c = (struct client){ .fd = -1 };
}

/* What is left goes when the other side has room. */
static void send_some(struct client *c)
{
	long n = fm_sys6(SYS_sendto, c->fd, (long)(c->answer + c->sent),
			 (long)(c->size - c->sent), MSG_NOSIGNAL, 0, 0);

	if (n >= 0)
		c->sent += (size_t)n;
	if (n < 0 ? n != -EAGAIN && n != -EINTR : c->sent == c->size)
		hang_up(c);
}

/* `text` is ours to free. */
static void answer(struct client *c, char *text, size_t len)
{
	c->answer = text;
	c->size = len;
	if (text)
		send_some(c);
	else
		hang_up(c);
}

static void answer_copy(struct client *c, const char *text, size_t n)
{
	char *copy = fm_alloc(n + 1);

	if (copy)
		memcpy(copy, text, n);
	answer(c, copy, n);
}

static void answer_text(struct client *c, const char *text)
{
	answer_copy(c, text, strlen(text));
}

static void answer_stats(struct client *c)
{
	struct fm_json doc;

	if (fm_stats_json(&doc, fm_sys_getpid(), false)) {
		hang_up(c);
		return;
	}
	answer_copy(c, doc.text, doc.len);
	fm_json_free(&doc);
}

/* What is in effect: more than others leave, or less than a minimum, is not. */
static void answer_size(struct client *c, uint64_t asked)
{
	const uint64_t now = fm_mem_monitor_target();
	char digits[24], text[96];
	int n = sizeof(digits) - 1;
	uint64_t v = now;

	digits[n] = 0;
	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	fm_join(text, sizeof(text), "ok ", digits + n,
		now == asked ? "\n" :
		now < asked  ? " bytes: as much as there is room for now\n" :
			       " bytes: no less is of use\n");
	answer_text(c, text);
}

static void set_cache(struct client *c, const char *size)
{
	struct fm_cache_size cache;

	if (fm_parse_cache(size, &cache)) {
		answer_text(c, "error: bad size\n");
		return;
	}
	fm_mem_monitor_set(&cache);
	answer_size(c, cache.bytes);
}

static void answer_count(struct client *c, unsigned n, const char *none)
{
	answer_text(c, n ? "ok\n" : none);
}

/* Nothing after the word: every file. */
static const char *path_after(const char *line, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) || (line[n] && line[n] != ' '))
		return NULL;
	return line[n] ? line + n + 1 : line + n;
}

static bool change_server(struct client *c)
{
	const char *path = path_after(c->line, "demote");

	if (path) {
		answer_count(c, fm_demote_now(path),
			     "error: nothing such is served by the engine\n");
		return true;
	}
	path = path_after(c->line, "take-back");
	if (path)
		answer_count(c, fm_take_back_now(path),
			     "error: nothing such could be taken back\n");
	return path;
}

static void answer_map(struct client *c, const char *args)
{
	struct fm_json doc;
	const int err = fm_residency_json(&doc, args);

	if (!err)
		answer_copy(c, doc.text, doc.len);
	else
		answer_text(c, err == -EINVAL ?
			    "error: map CELLS [FILE]: CELLS is 1 to 1024\n" :
			    err == -ENOENT ?
			    "error: no such file is mapped\n" :
			    "error: no memory\n");
	fm_json_free(&doc);
}

static void obey(struct client *c)
{
	if (!strcmp(c->line, "stats")) {
		answer_stats(c);
	} else if (!strncmp(c->line, "cache ", 6)) {
		set_cache(c, c->line + 6);
	} else if (!strncmp(c->line, "map ", 4)) {
		answer_map(c, c->line + 4);
	} else if (!change_server(c)) {
		answer_text(c, "error: known are: stats, cache SIZE, "
			    "demote [PATH], take-back [PATH], "
			    "map CELLS [FILE]\n");
	}
}

/* Read straight into the line; its last byte stays for the terminator. */
static void receive(struct client *c)
{
	long n = fm_sys3(SYS_read, c->fd, c->line + c->len, LINE - 1 - c->len);
	char *end;

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->len += (size_t)n;
	end = memchr(c->line, '\n', c->len);
	if (end) {
		*end = 0;
		obey(c);
	} else if (c->len == LINE - 1) {
		hang_up(c);
	}
}

/* Who comes when there is no place waits in the kernel's queue. */
static void connected(void)
{
	struct client *c = clients;
	long fd;

	while (c < clients + FM_CONTROL_CLIENTS && c->fd >= 0)
		c++;
	if (c == clients + FM_CONTROL_CLIENTS)
		return;
	fd = fm_sys4(SYS_accept4, server, NULL, NULL,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		c->fd = fm_fd_raise((int)fd);
}

int fm_control_fds(struct pollfd *p)
{
	bool full = true;

	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		p[i + 1].fd = clients[i].fd;
		p[i + 1].events = clients[i].answer ? POLLOUT : POLLIN;
		full &= clients[i].fd >= 0;
	}
	p[0].fd = full ? -1 : server;
	p[0].events = POLLIN;
	return 1 + FM_CONTROL_CLIENTS;
}

/* The program has closed it by a system call that nobody saw: the number may be
 * its own by now. */
static bool taken_away(int *fd, const struct pollfd *p)
{
	if (!(p->revents & POLLNVAL) && fm_fd_still_ours(*fd))
		return false;
	fm_fd_forget(*fd);
	*fd = -1;
	return true;
}

void fm_control_serve(const struct pollfd *p)
{
	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		struct client *c = &clients[i];

		if (!p[i + 1].revents)
			continue;
		if (taken_away(&c->fd, &p[i + 1]))
			hang_up(c);
		else if (c->answer)
			send_some(c);
		else
			receive(c);
	}
	if (!p[0].revents)
		return;
	if (taken_away(&server, &p[0]))
		fm_log(FM_LOG_WARN,
		       "the program has closed the control socket");
	else
		connected();
}

/* The thread may have been anywhere: an answer may have been freed already. */
void fm_control_drop_fds(void)
{
	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		if (fm_fd_is_ours(clients[i].fd))
			fm_fd_drop(clients[i].fd);
		clients[i] = (struct client){ .fd = -1 };
	}
	if (fm_fd_is_ours(server))
		fm_fd_drop(server);
	server = -1;
	bound.ino = 0; /* the parent's */
}

/* Does another process, perhaps the one that started this one, listen there? It
 * does too where that cannot be told. */
static bool is_used(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	long fd = fm_sys3(SYS_socket, AF_UNIX,
			  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long r = fd;

	memcpy(to.sun_path, path, strlen(path));
	if (fd >= 0) {
		r = fm_sys3(SYS_connect, fd, &to, sizeof(to));
		fm_sys_close((int)fd);
	}
	return r != -ECONNREFUSED;
}

/* A socket that nobody listens on any more is left over from a run that was
 * killed; anything else at that path is not ours to remove. 1: it is in use. */
static int remove_stale(const char *path)
{
	struct stat st;

	if (fm_sys2(SYS_lstat, path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode)) /* bind(2) would say EADDRINUSE */
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	if (is_used(path))
		return 1;
	fm_sys1(SYS_unlink, path);
	return 0;
}

/* Whoever may connect may resize the cache: the owner only. Nobody can connect
 * before the listen. */
static int listen_at(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int err;

	memcpy(at.sun_path, path, strlen(path));
	err = (int)fm_sys3(SYS_bind, fd, &at, sizeof(at));
	if (!err)
		err = (int)fm_sys2(SYS_chmod, path, 0600);
	if (!err)
		err = (int)fm_sys2(SYS_listen, fd, 4);
	return err;
}

static void note_bound(const char *path)
{
	struct stat st;

	if (fm_sys2(SYS_lstat, path, &st))
		return;
	memcpy(bound.path, path, strlen(path) + 1);
	bound.dev = st.st_dev;
	bound.ino = st.st_ino;
}

static void remove_own(void)
{
	struct stat st;

	if (bound.ino && !fm_sys2(SYS_lstat, bound.path, &st) &&
	    st.st_ino == bound.ino && st.st_dev == bound.dev)
		fm_sys1(SYS_unlink, bound.path);
	bound.ino = 0;
}

int fm_control_listen(void)
{
	const char *pattern = fm_settings()->socket;
	char path[sizeof(bound.path)];
	bool own;
	long fd;
	int err;

	if (!pattern)
		return 0;
	if (fm_expand_pid(pattern, fm_sys_getpid(), path, sizeof(path), &own))
		return -ENAMETOOLONG;
	err = remove_stale(path);
	if (err > 0)
		fm_log(FM_LOG_INFO, "%s: another process listens there", path);
	if (err)
		return err < 0 ? err : 0;
	fd = fm_sys3(SYS_socket, AF_UNIX,
		     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return (int)fd;
	server = fm_fd_raise((int)fd);
	err = listen_at(server, path);
	if (err)
		fm_control_drop_fds();
	else
		note_bound(path);
	return err;
}

static void remove_dead(int pid, bool executed)
{
	remove_own();
}

FM_LIFE(control_socket, .level = FM_LIFE_RUNNING, .stop = remove_own,
	.dead = remove_dead)
