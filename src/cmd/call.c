/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/control.h"
#include "base/proc.h"
#include "loop.h"

#define RETRY_MS 20   /* where too many wait to be accepted */
#define LOOK_MS 1000  /* is it stopped? Two looks in a row say so */
#define FIRST ((size_t)1 << 16)
#define MOST ((size_t)256 << 20) /* bytes: no answer is that long */
#define PPID 4 /* any field of proc_pid_stat(5) */
#define JOB_MS 3600000 /* what may take long, as long as it goes on */
#define STEPS 1000     /* in which that is seen */

struct call {
	struct call_plan plan; /* of and line are not used after call_begin */
	struct live_process of;
	char line[FM_CONTROL_LINE];
	uv_timer_t timer;
	uv_pipe_t pipe;
	bool is_open; /* the pipe */
	pid_t pid;    /* whose end that is, or 0 */
	unsigned open; /* handles that are not closed yet */
	uint64_t began, until, looked; /* ms, of the loop's clock */
	unsigned stopped; /* looks in a row */
	unsigned step;
	char *text;
	size_t len, size;
};

bool call_is_stopped(pid_t pid)
{
	char path[32], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fm_proc_stat(path, PPID, &state);
	return state == 'T' || state == 't';
}

/* ---- a connection ------------------------------------------------------- */

/* Refused is what connect(2) says of a file that is no socket. */
static int error_of(const char *path, int err)
{
	struct stat st;

	return err == ECONNREFUSED && !stat(path, &st) &&
			       !S_ISSOCK(st.st_mode) ? ENOTSOCK : err;
}

/* Where everybody may leave sockets, one under a process's number need not be
 * that process's. */
static bool call_is_of(int fd, const struct live_process *p)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !p->pid ||
	       (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
		peer.uid == p->uid && (!peer.pid || peer.pid == p->pid));
}

static int connect_to(int fd, const struct live_process *of)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(of->socket) >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	strcpy(addr.sun_path, of->socket);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return error_of(of->socket, errno);
	return call_is_of(fd, of) ? 0 : EPERM;
}

int call_connect(const struct live_process *of)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int err = fd < 0 ? errno : connect_to(fd, of);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = err;
	return -1;
}

/* ---- its end ------------------------------------------------------------ */

static void call_closed(uv_handle_t *h)
{
	struct call *c = h->data;

	if (--c->open)
		return;
	free(c->text);
	free(c);
}

static void close_all(struct call *c)
{
	uv_close((uv_handle_t *)&c->timer, call_closed);
	if (c->is_open)
		uv_close((uv_handle_t *)&c->pipe, call_closed);
}

void call_cancel(struct call *c)
{
	if (c)
		close_all(c);
}

static void call_finish(struct call *c, int err)
{
	char *text = NULL;

	if (!err && !c->len)
		err = ECONNRESET;
	if (!err) {
		text = c->text;
		c->text = NULL;
	}
	close_all(c);
	c->plan.done(text, err, c->plan.arg);
}

/* ---- the answer --------------------------------------------------------- */

/* Of the whole lines at its beginning those that tell of progress are told and
 * taken out. */
static void take_progress(struct call *c)
{
	unsigned long done, total;
	unsigned now;
	char *end;

	while ((end = strchr(c->text, '\n')) &&
	       sscanf(c->text, "progress %lu %lu\n", &done, &total) == 2) {
		if (c->plan.progress)
			c->plan.progress(done, total, c->plan.arg);
		now = (unsigned)((double)done / (double)(total ? total : 1) *
				 STEPS);
		if (done <= total && now > c->step) {
			c->step = now;
			if (c->plan.job && uv_now(c->timer.loop) <
						   c->began + JOB_MS)
				c->until = uv_now(c->timer.loop) +
					   (uint64_t)c->plan.ms;
		}
		c->len -= (size_t)(end + 1 - c->text);
		memmove(c->text, end + 1, c->len + 1);
	}
}

/* Without room libuv says ENOBUFS. */
static void call_room(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct call *c = h->data;
	const size_t size = c->size ? c->size * 2 : FIRST;
	char *text = c->size - c->len < 2 && size <= MOST ?
			     realloc(c->text, size) : NULL;

	if (text) {
		c->text = text;
		c->size = size;
	}
	*ret = uv_buf_init(c->text + c->len,
			   c->size > c->len + 1 ?
				   (unsigned)(c->size - c->len - 1) : 0);
}

static void call_heard(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct call *c = s->data;

	if (n == UV_EOF)
		call_finish(c, 0);
	else if (n < 0)
		call_finish(c, n == UV_ENOBUFS ? ENOMEM : (int)-n);
	if (n <= 0)
		return;
	c->len += (size_t)n;
	c->text[c->len] = 0;
	take_progress(c);
}

/* A line fits into any socket's buffer. By send(2): a peer that has gone is an
 * error, and no signal. */
static int call_say(struct call *c, int fd)
{
	const size_t n = strlen(c->line);
	int err;

	if (send(fd, c->line, n, MSG_NOSIGNAL) != (ssize_t)n)
		return errno;
	uv_pipe_init(c->timer.loop, &c->pipe, 0);
	c->pipe.data = c;
	c->open++;
	c->is_open = true;
	err = uv_pipe_open(&c->pipe, fd);
	if (err)
		close(fd);
	else
		err = uv_read_start((uv_stream_t *)&c->pipe, call_room,
				    call_heard);
	return -err;
}

static int begin(struct call *c)
{
	int fd = call_connect(&c->of), err;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return errno;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		c->pid = peer.pid;
	err = call_say(c, fd);
	if (err && !c->is_open)
		close(fd);
	return err;
}

/* ---- time --------------------------------------------------------------- */

static bool seems_stopped(struct call *c, uint64_t now)
{
	if (now < c->looked + LOOK_MS)
		return false;
	c->looked = now;
	c->stopped = call_is_stopped(c->pid) ? c->stopped + 1 : 0;
	return c->stopped > 1;
}

static void turn(uv_timer_t *t)
{
	struct call *c = t->data;
	const uint64_t now = uv_now(t->loop);
	int err = c->is_open ? 0 : begin(c);

	if (err && (err != EAGAIN || !c->plan.ms))
		call_finish(c, err);
	else if (c->plan.ms && (now >= c->until || seems_stopped(c, now)))
		call_finish(c, EAGAIN);
	else if (c->plan.ms)
		uv_timer_start(t, turn, c->is_open && c->until > now + LOOK_MS ?
			       LOOK_MS : c->is_open ? c->until - now : RETRY_MS,
			       0);
}

/* -1 and errno. */
static int set_line(struct call *c, const char *line)
{
	const int n = snprintf(c->line, sizeof(c->line), "%s\n", line);

	if (n < (int)sizeof(c->line) && !strchr(line, '\n'))
		return 0;
	errno = n >= (int)sizeof(c->line) ? ENAMETOOLONG : EINVAL;
	return -1;
}

struct call *call_begin(const struct call_plan *plan)
{
	uv_loop_t *loop = uv_default_loop();
	struct call *c = loop ? calloc(1, sizeof(*c)) : NULL;

	if (!c || set_line(c, plan->line)) {
		free(c);
		return NULL;
	}
	c->plan = *plan;
	c->of = *plan->of;
	c->pid = c->of.pid;
	uv_update_time(loop);
	c->began = uv_now(loop);
	c->until = c->began + (uint64_t)plan->ms;
	uv_timer_init(loop, &c->timer);
	c->timer.data = c;
	c->open = 1;
	uv_timer_start(&c->timer, turn, 0, 0);
	return c;
}

/* ---- waiting for it ----------------------------------------------------- */

struct waited {
	char *text;
	int err;
	bool done;
	const struct call_plan *plan;
};

static void call_note(char *text, int err, void *arg)
{
	struct waited *w = arg;

	w->text = text;
	w->err = err;
	w->done = true;
}

static void pass_on(unsigned long done, unsigned long total, void *arg)
{
	struct waited *w = arg;

	w->plan->progress(done, total, w->plan->arg);
}

char *call_wait(const struct call_plan *plan)
{
	struct waited w = { .plan = plan };
	struct call_plan p = *plan;

	p.progress = plan->progress ? pass_on : NULL;
	p.done = call_note;
	p.arg = &w;
	if (!call_begin(&p))
		return NULL;
	while (!w.done)
		loop_turn();
	errno = w.err;
	return w.text;
}
