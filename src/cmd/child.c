/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"

static sigset_t before; /* the mask of the parent */

static void child_has_ended(uv_poll_t *p, int status, int events)
{
	struct child *c = p->data;

	c->ended = true;
	uv_poll_stop(p);
	if (c->on_end)
		c->on_end(c->arg);
}

static int child_watch(struct child *c)
{
	c->fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->fd < 0)
		return -errno;
	uv_poll_init(uv_default_loop(), &c->end, c->fd);
	c->end.data = c;
	return uv_poll_start(&c->end, UV_READABLE, child_has_ended);
}

int child_start(struct child *c, void (*run)(void *arg), void *arg)
{
	sigset_t all;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	c->pid = fork();
	if (c->pid == 0)
		run(arg);
	err = c->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err)
		err = child_watch(c);
	if (err && c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	return err;
}

/* A handler of the loop's writes to a pipe that the parent has, too. */
void child_is_ready(void)
{
	struct sigaction is;

	for (int sig = 1; sig < NSIG; sig++)
		if (!sigaction(sig, NULL, &is) && is.sa_handler != SIG_IGN &&
		    is.sa_handler != SIG_DFL)
			signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void child_wait(struct child *c)
{
	while (!c->ended)
		loop_turn();
	loop_close((uv_handle_t *)&c->end);
	close(c->fd);
}
