/* SPDX-License-Identifier: MIT */
/* members.c - starts the workers, in as many processes as are wanted. */
#include "members.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ARGUMENTS 120

static size_t bitmap_bytes(const struct load *l)
{
	return l->written_path ? ((l->offset + l->range) / PAGE / 64 + 1) * 8
			       : 0;
}

static void shared_map(struct load *l, int fd)
{
	size_t len = sizeof(*l->shared) + bitmap_bytes(l);

	l->shared = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (l->shared == MAP_FAILED)
		fail("shared memory");
	if (l->written_path)
		l->written = l->shared->written;
}

static int shared_fd = -1;

void shared_make(struct load *l)
{
	pthread_barrierattr_t attr;

	shared_fd = memfd_create("mapload", 0);
	if (shared_fd < 0 ||
	    ftruncate(shared_fd, (off_t)(sizeof(*l->shared) + bitmap_bytes(l))))
		fail("shared memory");
	shared_map(l, shared_fd);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&l->shared->start, &attr,
			     l->members * l->threads + 1);
}

void shared_open(struct load *l, const char *text)
{
	int fd;

	if (sscanf(text, "%u:%d", &l->member, &fd) != 2 ||
	    l->member >= l->members)
		usage();
	shared_map(l, fd);
	close(fd);
}

/* ---- a member ----------------------------------------------------------- */

static worker_fn *body(const char *pattern)
{
	if (!strcmp(pattern, "fresh"))
		return run_fresh;
	if (!strcmp(pattern, "pair"))
		return run_pair;
	if (!strcmp(pattern, "foreign"))
		return run_foreign;
	if (!strcmp(pattern, "fits"))
		return run_fits;
	return run_pattern;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->load->shared;

	atomic_fetch_add(&s->ready, 1);
	pthread_barrier_wait(&s->start);
	body(w->load->pattern)(w);
	w->end_ns = now_ns();
	return NULL;
}

static void start_workers(struct load *l, struct worker *w)
{
	bool plain = body(l->pattern) == run_pattern;

	for (unsigned i = 0; i < l->threads; i++) {
		w[i].load = l;
		w[i].id = l->member * l->threads + i;
		if (l->progress_path && w[i].id < MAX_PROGRESS)
			w[i].progress =
				&l->shared->progress[w[i].id].accesses;
		if (pattern_init(&w[i].pat, &l->conf,
				 plain ? l->pattern : "uniform", w[i].id,
				 l->members * l->threads, l->seed))
			usage();
		if (pthread_create(&w[i].thread, NULL, worker_main, &w[i]))
			fail("pthread_create");
	}
}

static void longest(double *to, double s)
{
	if (s > *to)
		*to = s;
}

static void worker_add(struct worker *to, const struct worker *w)
{
	hist_merge(&to->hist, &w->hist);
	to->accesses += w->accesses;
	to->wrong += w->wrong;
	to->hot += w->hot;
	to->hot_hits += w->hot_hits;
	if (w->end_ns > to->end_ns)
		to->end_ns = w->end_ns;
	longest(&to->passes.first, w->passes.first);
	longest(&to->passes.second, w->passes.second);
	longest(&to->passes.random, w->passes.random);
	longest(&to->passes.later, w->passes.later);
	longest(&to->passes.later_pass, w->passes.later_pass);
	to->passes.touches += w->passes.touches;
}

static double final_msync(const struct load *l)
{
	uint64_t t0 = now_ns();

	if (l->op == OP_READ)
		return 0;
	if (msync(l->base, l->range, MS_SYNC))
		fail("msync");
	return (double)(now_ns() - t0) / 1e9;
}

static struct sizes sizes_now(void)
{
	return (struct sizes){
		.rss = status_bytes("VmRSS:"), .peak = status_bytes("VmHWM:"),
		.pte = status_bytes("VmPTE:"),
		.anon = status_bytes("RssAnon:"),
	};
}

static void member_finish(struct load *l, struct worker *w,
			  const struct usage *before)
{
	struct outcome *o = &l->shared->member[l->member];
	struct usage after;

	for (unsigned i = 0; i < l->threads; i++) {
		pthread_join(w[i].thread, NULL);
		worker_add(&o->sum, &w[i]);
	}
	o->sync_s = final_msync(l);
	o->sizes = sizes_now();
	usage_get(&after, l->dev);
	o->used = usage_between(before, &after);
}

/* A worker more than there are threads: what the prefill finds. */
void member_run(struct load *l)
{
	struct worker *w = zeroed((l->threads + 1) * sizeof(*w));
	struct worker *filler = &w[l->threads];
	struct usage before;

	filler->load = l;
	prefill(l, filler);
	l->shared->member[l->member].sum.wrong = filler->wrong;
	usage_get(&before, l->dev);
	start_workers(l, w);
	member_finish(l, w, &before);
}

/* ---- all of them -------------------------------------------------------- */

__attribute__((noreturn)) static void lost(pid_t pid, int status)
{
	fprintf(stderr, "mapload: process %d ended with %s %d\n", pid,
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	exit(1); /* the others die with us */
}

static pid_t start_process(void)
{
	pid_t leader = getpid(), pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != leader)
			_exit(1);
	}
	return pid;
}

static void start_forked(struct load *l)
{
	for (l->member = 0; l->member < l->members; l->member++) {
		if (start_process())
			continue;
		member_run(l);
		exit(0);
	}
}

/* Programs of their own, which have nothing of ours but the descriptor. */
static void start_programs(struct load *l, char **argv)
{
	char *args[MOST_ARGUMENTS + 3], text[32];
	unsigned n = 0;

	while (argv[n] && n < MOST_ARGUMENTS) {
		args[n] = argv[n];
		n++;
	}
	args[n] = "--member";
	args[n + 1] = text;
	args[n + 2] = NULL;
	for (unsigned i = 0; i < l->members; i++) {
		snprintf(text, sizeof(text), "%u:%d", i, shared_fd);
		if (start_process())
			continue;
		execv("/proc/self/exe", args);
		fail("exec");
	}
}

static void wait_seconds(double s)
{
	struct timespec ts = { (time_t)s,
			       (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* A member that dies before it is ready must not be waited for. */
static void await_ready(struct load *l)
{
	pid_t pid;
	int status;

	while (atomic_load(&l->shared->ready) < l->members * l->threads) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0)
			lost(pid, status);
		wait_seconds(0.001);
	}
}

static void await_ends(void)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, 0)) > 0)
		if (status)
			lost(pid, status);
}

static void add_up(const struct load *l, struct outcome *ret)
{
	for (unsigned i = 0; i < l->members; i++) {
		const struct outcome *o = &l->shared->member[i];

		worker_add(&ret->sum, &o->sum);
		longest(&ret->sync_s, o->sync_s);
		ret->sizes.rss += o->sizes.rss;
		ret->sizes.peak += o->sizes.peak;
		ret->sizes.pte += o->sizes.pte;
		ret->sizes.anon += o->sizes.anon;
		if (l->forked || l->processes)
			usage_add(&ret->used, &o->used);
	}
}

/* Lets all workers go at once; returns the instant. */
static uint64_t lead(struct load *l, struct usage *ret_before)
{
	uint64_t t0;

	await_ready(l);
	usage_get(ret_before, l->dev);
	pthread_barrier_wait(&l->shared->start);
	t0 = now_ns();
	if (!l->ops && strcmp(l->pattern, "fits")) {
		wait_seconds(l->seconds);
		atomic_store(&l->shared->stop, true);
	}
	return t0;
}

/* ---- how far it is ----------------------------------------------------- */

#define EVERY_S 0.25

static _Atomic bool all_done;

static uint64_t done_by_all(const struct load *l)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MAX_PROGRESS; i++)
		sum += atomic_load(&l->shared->progress[i].accesses);
	return sum;
}

/* A line each quarter of a second: the clock in ms, accesses up to then. */
static void *follow(void *arg)
{
	const struct load *l = arg;
	FILE *f = fopen(l->progress_path, "we");

	if (!f)
		fail(l->progress_path);
	setlinebuf(f); /* benches/record waits for it */
	while (!atomic_load(&all_done)) {
		fprintf(f, "%lu %lu\n", now_ns() / 1000000, done_by_all(l));
		wait_seconds(EVERY_S);
	}
	fprintf(f, "%lu %lu\n", now_ns() / 1000000, done_by_all(l));
	if (fclose(f))
		fail(l->progress_path);
	return NULL;
}

static void follow_begins(struct load *l, pthread_t *ret)
{
	if (l->progress_path && pthread_create(ret, NULL, follow, l))
		fail("pthread_create");
}

static void follow_ends(const struct load *l, pthread_t thread)
{
	atomic_store(&all_done, true);
	if (l->progress_path)
		pthread_join(thread, NULL);
}

static void *lone_member(void *arg)
{
	member_run(arg);
	return NULL;
}

void members_run(struct load *l, char **argv, struct outcome *ret)
{
	bool alone = !l->processes && !l->forked;
	struct usage before, after;
	pthread_t thread, follower = 0;
	uint64_t t0;

	if (l->processes)
		start_programs(l, argv);
	else if (l->forked)
		start_forked(l);
	else if (pthread_create(&thread, NULL, lone_member, l))
		fail("pthread_create");
	follow_begins(l, &follower);
	t0 = lead(l, &before);
	if (alone)
		pthread_join(thread, NULL);
	await_ends();
	follow_ends(l, follower);
	usage_get(&after, l->dev);
	ret->used = usage_between(&before, &after);
	add_up(l, ret);
	ret->elapsed = (double)(ret->sum.end_ns - t0) / 1e9;
}
