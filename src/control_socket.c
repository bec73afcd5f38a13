/* SPDX-License-Identifier: MIT */
/*
 * control_socket.c - FASTMAP_SOCKET: one line in, one answer out.
 *
 *	stats          the statistics as JSON
 *	cache SIZE     change the budget ("512M", "30%")
 */
#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "alloc.h"
#include "control_priv.h"
#include "log.h"
#include "policy.h"
#include "room.h"
#include "stats.h"
#include "sys.h"

#define LINE 128

static uv_pipe_t server;

struct client {
	uv_pipe_t pipe;
	uv_write_t write;
	char line[LINE];
	size_t len;
	char *answer;
};

static void client_free(uv_handle_t *h)
{
	struct client *c = h->data;

	fm_free(c->answer);
	fm_free(c);
}

static void hang_up(struct client *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->pipe))
		uv_close((uv_handle_t *)&c->pipe, client_free);
}

static void answered(uv_write_t *w, int status)
{
	hang_up(w->data);
}

/* `text` is ours to free. */
static void answer(struct client *c, char *text, size_t len)
{
	uv_buf_t buf = uv_buf_init(text, (unsigned)len);

	c->answer = text;
	c->write.data = c;
	uv_read_stop((uv_stream_t *)&c->pipe);
	if (!text || uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1,
			      answered))
		hang_up(c);
}

static void answer_text(struct client *c, const char *text)
{
	size_t n = strlen(text);
	char *copy = fm_alloc(n + 1);

	if (copy)
		memcpy(copy, text, n);
	answer(c, copy, n);
}

static void set_cache(struct client *c, const char *size)
{
	struct fm_cache_size cache;

	if (fm_parse_cache(size, &cache)) {
		answer_text(c, "error: bad size\n");
		return;
	}
	fm_room_set(&cache);
	answer_text(c, "ok\n");
}

static void obey(struct client *c)
{
	if (!strcmp(c->line, "stats")) {
		size_t len = 0;
		char *text = fm_stats_json(&len);

		answer(c, text, len);
	} else if (!strncmp(c->line, "cache ", 6)) {
		set_cache(c, c->line + 6);
	} else {
		answer_text(c, "error: known are: stats, cache SIZE\n");
	}
}

/* Read straight into the line; its last byte stays for the terminator. */
static void room(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct client *c = h->data;

	*ret = uv_buf_init(c->line + c->len, (unsigned)(LINE - 1 - c->len));
}

static void got(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct client *c = s->data;
	char *end;

	if (n < 0) {
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

static void connected(uv_stream_t *s, int status)
{
	struct client *c = status ? NULL : fm_alloc(sizeof(*c));

	if (!c)
		return;
	uv_pipe_init(s->loop, &c->pipe, 0);
	c->pipe.data = c;
	if (uv_accept(s, (uv_stream_t *)&c->pipe) ||
	    uv_read_start((uv_stream_t *)&c->pipe, room, got))
		hang_up(c);
}

/* Does another process, perhaps the one that started this one, listen there? It does
 * too where that cannot be told. */
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
 * killed; anything else at that path is not ours to remove. False: it is in use. */
static bool remove_stale(const char *path)
{
	struct stat st;

	if (fm_sys2(SYS_lstat, path, &st) || !S_ISSOCK(st.st_mode))
		return true;
	if (is_used(path))
		return false;
	fm_sys1(SYS_unlink, path);
	return true;
}

int fm_control_listen(uv_loop_t *loop)
{
	const char *path = fm_settings()->socket;
	int err;

	if (!path)
		return 0;
	/* libuv would cut it, and make a socket of another name. */
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return -ENAMETOOLONG;
	if (!remove_stale(path)) {
		fm_log(FM_LOG_INFO, "%s: another process listens there", path);
		return 0;
	}
	uv_pipe_init(loop, &server, 0);
	err = uv_pipe_bind(&server, path);
	/* Whoever may connect may resize the cache: the owner only. Nobody can
	 * connect before the listen. */
	if (!err)
		err = (int)fm_sys2(SYS_chmod, path, 0600);
	if (!err)
		err = uv_listen((uv_stream_t *)&server, 4, connected);
	if (err)
		uv_close((uv_handle_t *)&server, NULL);
	return err;
}
