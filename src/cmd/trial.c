/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leavers.h"
#include "stage.h"

#define TICK_MS 200
#define REST_MS 2000 /* for who is left, or holds its output, after its end */
#define GRACE_MS 2000 /* between a signal and SIGKILL */

static sigset_t ours, before;
static int got;

void trial_begin(void)
{
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ours, &before);
	leavers_begin();
}

int trial_signal(void)
{
	const struct timespec now = { 0 };
	int sig = got ? 0 : sigtimedwait(&ours, NULL, &now);

	if (sig > 0)
		got = sig;
	return got;
}

void trial_die(void)
{
	if (!trial_signal())
		return;
	signal(got, SIG_DFL);
	raise(got);
	sigprocmask(SIG_UNBLOCK, &ours, NULL);
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

static void child(const struct trial_plan *p, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	if (p->group && group_enter(p->group)) {
		perror("fastmap: entering the control group");
		_exit(126);
	}
	set_input();
	dup2(out, 1);
	set_run_variable(p);
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(p->argv[0], p->argv);
	fprintf(stderr, "fastmap: %s: %m\n", p->argv[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- while it runs ----------------------------------------------------- */

struct running {
	const struct trial_plan *plan;
	pid_t pid;
	int pidfd, out; /* -1: it has ended */
	double began, signalled;
	MD5_CTX md5;
	uint64_t bytes;
};

static void take_output(struct running *r)
{
	static unsigned char buf[1 << 16];
	ssize_t n = read(r->out, buf, sizeof(buf));

	if (n > 0) {
		MD5Update(&r->md5, buf, (size_t)n);
		r->bytes += (uint64_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close(r->out);
		r->out = -1;
	}
}

/* To all that is in its process group: Ctrl-C on a terminal goes to ours. */
static void pass_signal(struct running *r)
{
	if (!trial_signal())
		return;
	if (!r->signalled) {
		r->signalled = clock_now();
		kill(-r->pid, got);
	} else if (clock_now() > r->signalled + GRACE_MS / 1e3) {
		kill(-r->pid, SIGKILL);
	}
}

/* True: it has ended. */
static bool look(struct running *r, int ms)
{
	struct pollfd p[2] = { { .fd = r->pidfd, .events = POLLIN },
			       { .fd = r->out, .events = POLLIN } };

	if (poll(p, 2, ms) > 0 && p[1].revents)
		take_output(r);
	return p[0].revents != 0;
}

static void wait_for(struct running *r, struct trial *ret)
{
	double told = r->began, now;

	while (!look(r, TICK_MS)) {
		pass_signal(r);
		now = clock_now();
		if (r->plan->tick && now > told + TICK_MS / 1e3) {
			r->plan->tick(now - r->began, r->plan->arg);
			told = now;
		}
	}
	ret->seconds = clock_now() - r->began;
}

static void rest_of_output(struct running *r, double until)
{
	while (r->out >= 0 && clock_now() < until && !trial_signal()) {
		struct pollfd p = { .fd = r->out, .events = POLLIN };

		if (poll(&p, 1, 50) > 0)
			take_output(r);
	}
	if (r->out >= 0)
		close(r->out);
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void take_usage(struct running *r, struct trial *ret)
{
	struct rusage u;

	while (wait4(r->pid, &ret->status, 0, &u) < 0 && errno == EINTR)
		;
	ret->cpu = seconds(&u.ru_utime) + seconds(&u.ru_stime);
	ret->read = (uint64_t)u.ru_inblock * 512;
	ret->rss = (uint64_t)u.ru_maxrss * 1024;
}

/* ---- from its start to its end ----------------------------------------- */

static int start(struct running *r)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
	fflush(NULL);
	r->began = clock_now();
	r->pid = fork();
	if (r->pid == 0)
		child(r->plan, pipes[1]);
	close(pipes[1]);
	r->out = pipes[0];
	if (r->pid < 0) {
		close(r->out);
		return -errno;
	}
	setpgid(r->pid, r->pid);
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	return r->pidfd < 0 ? -errno : 0;
}

/* Who runs on: a daemon, or a helper that is about to end. */
static void wait_for_leavers(double until, struct trial *ret)
{
	while (leavers_any() && clock_now() < until && !trial_signal())
		usleep(10000);
	leavers_names(ret->left, sizeof(ret->left));
}

static void finish(struct running *r, struct trial *ret)
{
	double until;

	wait_for(r, ret);
	until = clock_now() + REST_MS / 1e3;
	close(r->pidfd);
	take_usage(r, ret);
	rest_of_output(r, until);
	wait_for_leavers(until, ret);
	ret->bytes = r->bytes;
	MD5End(&r->md5, ret->sum);
}

static int run(const struct trial_plan *plan, struct trial *ret)
{
	struct running r = { .plan = plan };
	int err;

	MD5Init(&r.md5);
	err = start(&r);
	if (err && r.pid > 0) {
		kill(r.pid, SIGKILL);
		waitpid(r.pid, NULL, 0);
	}
	if (!err)
		finish(&r, ret);
	return err;
}

int trial_run(const struct trial_plan *plan, struct trial *ret)
{
	const struct group *g = plan->group;
	int err = g ? group_make(g, plan->limit) : 0;

	memset(ret, 0, sizeof(*ret));
	if (err)
		return err;
	err = run(plan, ret);
	if (g) {
		ret->peak = group_peak(g);
		ret->out_of_memory = group_killed(g);
		group_end(g, *ret->left ? 0 : REST_MS);
	}
	return trial_signal() ? -EINTR : err;
}
