/* SPDX-License-Identifier: MIT */
/*
 * control_socket.c - where the process listens, and who has come. What they
 * may ask: whoever has an FM_CONTROL.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fds.h"
#include "base/life.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "control_priv.h"
#include "engine.h"
#include "policy.h"
#include "tunables.h"

static int server = -1;

/* Where this process listens, for who removes it at the end. */
static struct {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev;
	ino_t ino; /* 0: it does not */
} bound;

static void hang_up(struct fm_client *c)
{
	fm_fd_drop(c->fd);
	fm_json_free(&c->request.answer);
	c->len = c->sent = 0;
	atomic_store(&c->state, FM_CLIENT_ASKS);
	c->fd = -1;
}

/* What is left goes when the other side has room. */
static void send_some(struct fm_client *c)
{
	if (fm_control_send(c))
		hang_up(c);
}

/* A line that has come, to its command. */
static void control_socket_obey(struct fm_client *c)
{
	struct fm_request *r = &c->request;
	int err = 0;

	*r = (struct fm_request){ .fd = -1 };
	c->command = fm_control_parse(c->line, r);
	if (!c->command)
		fm_answer_error(r, "no such command; 'help' lists them");
	else if (!c->command->job || fm_sys_confined())
		c->command->run(r); /* no thread where clone may be forbidden */
	else
		r->fd = c->fd, err = fm_job_add(c);
	if (err)
		fm_answer_error(r, "%s", err == -EBUSY ?
				"other jobs are under way, ask again later" :
				fm_error_text(-err));
	if (err || r->fd < 0)
		atomic_store(&c->state, FM_CLIENT_HEARS);
}

/* Read straight into the line; its last byte stays for the terminator. */
static void receive(struct fm_client *c)
{
	long n = fm_sys3(SYS_read, c->fd, c->line + c->len,
			 FM_CONTROL_LINE - 1 - c->len);
	char *end;

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->len += (size_t)n;
	c->since_ms = fm_now_ms();
	end = memchr(c->line, '\n', c->len);
	if (end) {
		*end = 0;
		control_socket_obey(c);
		if (atomic_load(&c->state) == FM_CLIENT_HEARS)
			send_some(c);
	} else if (c->len == FM_CONTROL_LINE - 1) {
		hang_up(c);
	}
}

static bool control_socket_is_idle(const struct fm_client *c)
{
	return c->fd < 0;
}

/* A job may go on beside its client's silence; everybody else who does nothing
 * for so long takes the place of others. */
static void hang_up_silent(struct fm_client *c)
{
	if (!control_socket_is_idle(c) && !fm_job_has(c) &&
	    fm_now_ms() > c->since_ms + fm_tune.patience_ms)
		hang_up(c);
}

/* The owner of the process, and root. The mode of the socket says the same, but
 * where its directory is changed afterwards. */
static bool control_socket_may_ask(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !fm_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer,
			&len) &&
	       (!peer.uid || peer.uid == (uid_t)fm_sys0(SYS_geteuid));
}

/* Who comes when there is no place waits in the kernel's queue. */
static void connected(void)
{
	struct fm_client *c = fm_clients;
	long fd;

	while (c < fm_clients + FM_CONTROL_CLIENTS &&
	       !control_socket_is_idle(c))
		c++;
	if (c == fm_clients + FM_CONTROL_CLIENTS)
		return;
	fd = fm_sys4(SYS_accept4, server, NULL, NULL,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	fd = fm_fd_raise((int)fd); /* at once: the number may be wanted */
	if (!control_socket_may_ask((int)fd)) {
		fm_fd_drop((int)fd);
		return;
	}
	c->since_ms = fm_now_ms();
	c->fd = (int)fd;
}

int fm_control_fds(struct pollfd *p)
{
	bool full = true;

	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		struct fm_client *c = &fm_clients[i];

		hang_up_silent(c);
		p[i + 1].fd = fm_job_has(c) ? -1 : c->fd;
		p[i + 1].events = atomic_load(&c->state) == FM_CLIENT_HEARS ?
				  POLLOUT : POLLIN;
		full &= !control_socket_is_idle(c);
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

static void control_socket_serve(struct fm_client *c, const struct pollfd *p)
{
	if (taken_away(&c->fd, p))
		hang_up(c);
	else if (atomic_load(&c->state) == FM_CLIENT_HEARS)
		send_some(c);
	else
		receive(c);
}

void fm_control_serve(const struct pollfd *p)
{
	for (int i = 0; i < FM_CONTROL_CLIENTS; i++)
		if (p[i + 1].revents)
			control_socket_serve(&fm_clients[i], &p[i + 1]);
	if (!p[0].revents)
		return;
	if (taken_away(&server, &p[0]))
		fm_log(FM_LOG_NOTE,
		       "the program has closed the control socket");
	else
		connected();
}

/* The threads may have been anywhere: an answer may have been freed already. */
void fm_control_drop_fds(void)
{
	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		struct fm_client *c = &fm_clients[i];

		if (c->fd < 0) /* the last that is stored of one who goes */
			continue;
		if (fm_fd_is_ours(c->fd))
			fm_fd_drop(c->fd);
		c->fd = -1;
		c->len = c->sent = 0;
		c->request.answer = (struct fm_json){ 0 };
		atomic_store(&c->state, FM_CLIENT_ASKS);
	}
	fm_job_reset();
	if (fm_fd_is_ours(server))
		fm_fd_drop(server);
	server = -1;
	bound.ino = 0; /* the parent's */
	atomic_store(&fm_life_after_exec, false);
}

/* Does another process, perhaps the one that started this one, listen there? It
 * does too where that cannot be told. */
static bool control_socket_is_used(const char *path)
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

	if (fm_sys_lstat(path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode)) /* bind(2) would say EADDRINUSE */
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	if (control_socket_is_used(path))
		return 1;
	fm_sys_unlink(path);
	return 0;
}

/* Whoever may connect may resize the cache: the owner only. bind(2) gives the
 * file the socket's mode, less the umask; afterwards, by its path, it might be
 * another's that is changed. */
static int listen_at(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int err;

	memcpy(at.sun_path, path, strlen(path));
	err = (int)fm_sys2(SYS_fchmod, fd, 0600);
	if (!err)
		err = (int)fm_sys3(SYS_bind, fd, &at, sizeof(at));
	if (!err)
		err = (int)fm_sys2(SYS_listen, fd, 4);
	return err;
}

static void note_bound(const char *path)
{
	struct stat st;

	if (fm_sys_lstat(path, &st))
		return;
	memcpy(bound.path, path, strlen(path) + 1);
	bound.dev = st.st_dev;
	bound.ino = st.st_ino;
	atomic_store(&fm_life_after_exec, true);
}

/* A program that has confined itself leaves it for the next one to remove. */
static void remove_own(void)
{
	struct stat st;

	if (bound.ino && fm_sys_may_ask() && !fm_sys_lstat(bound.path, &st) &&
	    st.st_ino == bound.ino && st.st_dev == bound.dev)
		fm_sys_unlink(bound.path);
	bound.ino = 0;
}

/* 1: another process listens there. */
static int listen_on(const char *path)
{
	int err = remove_stale(path);
	long fd;

	if (err)
		return err;
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

/* 1 and errors, where the program has no socket for it. */
static void say_taken(const char *path, int err)
{
	static _Atomic bool said;
	struct stat st;
	const bool others = !fm_sys_lstat(path, &st) &&
			    st.st_uid != (uid_t)fm_sys0(SYS_geteuid);

	if (others && !atomic_exchange(&said, true))
		fm_log(FM_LOG_WARN, "%s: no control socket: user %u has made "
		       "something of that name", path, (unsigned)st.st_uid);
	else if (err > 0)
		fm_log(FM_LOG_INFO, "%s: another process listens there", path);
	else if (!others)
		fm_log(FM_LOG_INFO, "%s: no control socket, errno %d: %s", path,
		       -err, fm_error_text(-err));
}

static int listen_as_set(const char *pattern)
{
	char path[sizeof(bound.path)];
	bool own;
	int err;

	if (fm_expand_pid(pattern, fm_sys_getpid(), path, sizeof(path), &own))
		return -ENAMETOOLONG;
	err = listen_on(path);
	if (err > 0)
		say_taken(path, err);
	return err > 0 ? 0 : err;
}

/* ---- where nothing is set ---------------------------------------------- */

/* Nobody else may put another socket in the place of ours. */
static bool control_socket_is_safe_folder(const char *path)
{
	struct stat st;

	return !fm_sys_lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       (!st.st_uid || st.st_uid == (uid_t)fm_sys0(SYS_geteuid)) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

struct folder {
	const char *path;
	char buf[2048]; /* size: some names at a time */
};

/* Whose program was killed is removed by whoever comes next: not every program
 * has a guardian. A number may be alive in a namespace of its own. */
static void remove_stranded(const char *name, void *arg)
{
	const struct folder *in = arg;
	char path[sizeof(bound.path)];
	const char *end;
	struct stat st;
	uint64_t pid;

	end = fm_number(name, &pid);
	if (!end || strcmp(end, ".sock") || pid > INT32_MAX ||
	    fm_sys2(SYS_kill, (long)pid, 0) != -ESRCH ||
	    fm_join(path, sizeof(path), in->path, "/", name) ||
	    fm_sys_lstat(path, &st) ||
	    st.st_uid != (uid_t)fm_sys0(SYS_geteuid))
		return;
	remove_stale(path);
}

static void remove_all_stranded(const char *path)
{
	struct folder in = { .path = path };
	const int dir = fm_sys_open(path, O_RDONLY | O_DIRECTORY, 0);

	if (dir < 0)
		return;
	fm_each_entry(dir, in.buf, sizeof(in.buf), remove_stranded, &in);
	fm_sys_close(dir);
}

static bool listen_below(const char *dir)
{
	char name[32] = "/", number[16], path[sizeof(bound.path)];

	int err;

	fm_number_text(number, (unsigned)fm_sys_getpid());
	if (fm_join(name + 1, sizeof(name) - 1, number, ".sock", "") ||
	    fm_join(path, sizeof(path), dir, name, ""))
		return false;
	err = control_socket_is_safe_folder(dir) ? listen_on(path) :
	      fm_exists(dir) ? -EPERM : -ENOENT;
	if (err && err != -ENOENT)
		say_taken(path, err);
	if (!err)
		remove_all_stranded(dir);
	return !err;
}

/* The first of the usual folders for which `fits`. Who has made none of them
 * wants no socket. */
static bool usual_folder(bool (*fits)(const char *dir))
{
	const char *const above[] = { "/run", fm_policy_runtime_dir() };
	char dir[sizeof(bound.path)];

	for (unsigned i = 0; i < 2; i++)
		if (above[i] && *above[i] == '/' &&
		    !fm_join(dir, sizeof(dir), above[i], "/fastmap", "") &&
		    fits(dir))
			return true;
	return false;
}

bool fm_control_wanted(void)
{
	const char *set = fm_settings()->socket;

	return set && (strcmp(set, FM_SOCKET_AUTO) || usual_folder(fm_exists));
}

int fm_control_listen(void)
{
	const char *set = fm_settings()->socket;

	if (!set)
		return 0;
	if (strcmp(set, FM_SOCKET_AUTO))
		return listen_as_set(set);
	usual_folder(listen_below);
	return 0;
}

static void remove_dead(int pid, bool executed)
{
	remove_own();
}

FM_LIFE(control_socket, .level = FM_LIFE_RUNNING, .stop = remove_own,
	.dead = remove_dead)
