/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "child.h"
#include "leavers.h"
#include "loop.h"
#include "stage.h"

#define TICK_MS 200
#define REST_MS 2000 /* for who is left, or holds its output, after its end */
#define GRACE_MS 2000 /* between a signal and SIGKILL */

static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define OURS (sizeof(ours) / sizeof(ours[0]))

static uv_signal_t watched[OURS];
static int got;

static void trial_note(uv_signal_t *s, int number)
{
	got = got ? got : number;
}

void trial_begin(void)
{
	for (unsigned i = 0; i < OURS; i++) {
		uv_signal_init(uv_default_loop(), &watched[i]);
		uv_signal_start(&watched[i], trial_note, ours[i]);
	}
	leavers_begin();
}

int trial_signal(void)
{
	if (!got)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	return got;
}

void trial_die(void)
{
	if (!trial_signal())
		return;
	for (unsigned i = 0; i < OURS; i++)
		uv_signal_stop(&watched[i]);
	signal(got, SIG_DFL);
	raise(got);
}

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the child --------------------------------------------------------- */

bool trial_has_input(void)
{
	struct stat st;

	return fstat(0, &st) == 0 && S_ISREG(st.st_mode);
}

static void set_input(void)
{
	int fd = open(trial_has_input() ? "/proc/self/fd/0" : "/dev/null",
		      O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		dup2(fd, 0);
}

static void set_run_variable(const struct trial_plan *p)
{
	environ = p->env;
	if (p->preloaded)
		stage_run_variable();
}

struct start {
	const struct trial_plan *plan;
	int out;
};

static void trial_child(void *arg)
{
	const struct start *s = arg;
	const struct trial_plan *p = s->plan;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	if (p->group && group_enter(p->group)) {
		perror("fastmap: entering the control group");
		_exit(126);
	}
	set_input();
	dup2(s->out, 1);
	set_run_variable(p);
	child_is_ready();
	execvp(p->argv[0], p->argv);
	fprintf(stderr, "fastmap: %s: %m\n", p->argv[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- while it runs ----------------------------------------------------- */

struct running {
	const struct trial_plan *plan;
	struct child child;
	int out_fd;
	uv_poll_t out;
	uv_timer_t tick;
	bool written; /* all of its output */
	double began, signalled, seconds;
	MD5_CTX md5;
	uint64_t bytes;
};

static void take_output(uv_poll_t *p, int status, int events)
{
	static unsigned char buf[1 << 16];
	struct running *r = p->data;
	ssize_t n = read(r->out_fd, buf, sizeof(buf));

	if (n > 0) {
		MD5Update(&r->md5, buf, (size_t)n);
		r->bytes += (uint64_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		uv_poll_stop(p);
		r->written = true;
	}
}

/* To all that is in its process group: Ctrl-C on a terminal goes to ours. */
static void pass_signal(struct running *r)
{
	if (!got)
		return;
	if (!r->signalled) {
		r->signalled = clock_now();
		kill(-r->child.pid, got);
	} else if (clock_now() > r->signalled + GRACE_MS / 1e3) {
		kill(-r->child.pid, SIGKILL);
	}
}

static void tick(uv_timer_t *t)
{
	struct running *r = t->data;

	pass_signal(r);
	if (r->plan->tick && !r->child.ended)
		r->plan->tick(clock_now() - r->began, r->plan->arg);
}

static void trial_has_ended(void *arg)
{
	struct running *r = arg;

	r->seconds = clock_now() - r->began;
}

static void trial_watch(struct running *r)
{
	uv_loop_t *loop = uv_default_loop();

	uv_poll_init(loop, &r->out, r->out_fd);
	uv_timer_init(loop, &r->tick);
	r->child.on_end = trial_has_ended;
	r->child.arg = r->out.data = r->tick.data = r;
	uv_poll_start(&r->out, UV_READABLE, take_output);
	uv_timer_start(&r->tick, tick, TICK_MS, TICK_MS);
}

static void trial_unwatch(struct running *r)
{
	loop_close((uv_handle_t *)&r->out);
	loop_close((uv_handle_t *)&r->tick);
	close(r->out_fd);
}

/* The tick ends the wait for who holds its output. */
static void rest_of_output(struct running *r, double until)
{
	while (!r->written && clock_now() < until && !got)
		loop_turn();
}

static double trial_seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void take_usage(struct running *r, struct trial *ret)
{
	struct rusage u;

	while (wait4(r->child.pid, &ret->status, 0, &u) < 0 && errno == EINTR)
		;
	ret->cpu = trial_seconds(&u.ru_utime) + trial_seconds(&u.ru_stime);
	ret->read = (uint64_t)u.ru_inblock * 512;
	ret->rss = (uint64_t)u.ru_maxrss * 1024;
}

/* ---- from its start to its end ----------------------------------------- */

static int trial_start(struct running *r)
{
	int pipes[2], err;

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
	fflush(NULL);
	r->began = clock_now();
	err = child_start(&r->child, trial_child,
			  &(struct start){ r->plan, pipes[1] });
	close(pipes[1]);
	r->out_fd = pipes[0];
	if (err) {
		close(r->out_fd);
		return err;
	}
	setpgid(r->child.pid, r->child.pid);
	trial_watch(r);
	return 0;
}

/* Who runs on: a daemon, or a helper that is about to end. */
static void wait_for_leavers(double until, struct trial *ret)
{
	while (leavers_any() && clock_now() < until && !trial_signal())
		usleep(10000);
	leavers_names(ret->left, sizeof(ret->left));
}

static void trial_finish(struct running *r, struct trial *ret)
{
	double until;

	child_wait(&r->child);
	ret->seconds = r->seconds;
	until = clock_now() + REST_MS / 1e3;
	take_usage(r, ret);
	rest_of_output(r, until);
	trial_unwatch(r);
	wait_for_leavers(until, ret);
	ret->bytes = r->bytes;
	MD5End(&r->md5, ret->sum);
}

static int run_program(const struct trial_plan *plan, struct trial *ret)
{
	struct running r = { .plan = plan };
	int err;

	MD5Init(&r.md5);
	err = trial_start(&r);
	if (!err)
		trial_finish(&r, ret);
	return err;
}

int trial_run(const struct trial_plan *plan, struct trial *ret)
{
	const struct group *g = plan->group;
	int err = g ? group_make(g, plan->limit) : 0;

	memset(ret, 0, sizeof(*ret));
	if (err)
		return err;
	err = run_program(plan, ret);
	if (g) {
		ret->peak = group_peak(g);
		ret->out_of_memory = group_killed(g);
		group_end(g, *ret->left ? 0 : REST_MS);
	}
	return trial_signal() ? -EINTR : err;
}
