/* SPDX-License-Identifier: MIT */
#include "losing.h"

#include <fcntl.h>
#include <string.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/fds.h"
#include "base/life.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "map/map.h"
#include "judge.h"
#include "missing.h"
#include "old_calls.h"
#include "peers/peers.h"
#include "policy.h"
#include "serve/serve.h"
#include "skipped.h"
#include "take_back.h"
#include "tunables.h"
#include "vm/vm.h"

#define FILES 16u /* size */

/* ---- what is counted --------------------------------------------------- */

static struct fm_totals looked;

/* Between the last look and this one. False: there was none. */
static bool look_again(struct fm_rate *ret)
{
	const struct fm_totals before = looked;

	fm_judge_measure(&looked);
	*ret = fm_rate_between(&before, &looked);
	return before.ms;
}

/* ---- which file it is --------------------------------------------------- */

/* Pages of a file here and there: which of them are in the page cache. */
struct sample {
	struct fm_krange r; /* the first of its ranges */
	char path[256];
	struct fm_page_sample seen;
	uint64_t pages;
	uint64_t not_before_ms; /* looked at whether others use it */
	uint32_t changes;       /* of the ranges: else it is another sample */
};

static struct sample samples[FILES];
static unsigned nsamples;

static bool same_file(const struct fm_krange *a, const struct fm_krange *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

/* By the policy and the reason; how it is mapped fm_take_may says. */
static bool may_lose(const struct fm_krange *r)
{
	return r->policy && r->policy->serve == FM_SERVE_AUTO &&
	       r->policy->warm == FM_WARM_AUTO && r->shared;
}

struct wanted {
	const struct fm_krange *r;
	char *path;
};

static void look_for_path(const struct fm_skipped *l, void *arg)
{
	const struct wanted *w = arg;

	if (l->ino == w->r->ino && l->dev == w->r->dev)
		memcpy(w->path, l->path, sizeof(l->path));
}

static bool is_there(const struct sample *s, struct stat *st)
{
	return s->path[0] == '/' &&
	       !fm_sys4(SYS_newfstatat, AT_FDCWD, s->path, st, 0) &&
	       st->st_ino == s->r.ino && st->st_dev == s->r.dev;
}

static bool find_path(struct sample *s)
{
	struct wanted w = { &s->r, s->path };
	struct fm_file *f = fm_file_find(s->r.dev, s->r.ino);
	struct stat st;
	uint64_t old;

	s->path[0] = 0;
	if (f) {
		memcpy(s->path, f->path, sizeof(s->path));
		fm_file_put(f);
	} else {
		fm_block_signals(&old);
		fm_skipped_each(look_for_path, &w);
		fm_restore_signals(&old);
	}
	return is_there(s, &st);
}

static struct sample *sample_of(const struct fm_krange *r)
{
	struct sample *s;

	for (unsigned i = 0; i < nsamples; i++)
		if (same_file(&samples[i].r, r))
			return &samples[i];
	if (nsamples == FILES)
		return NULL;
	s = &samples[nsamples];
	*s = (struct sample){ .r = *r };
	if (find_path(s))
		return &samples[nsamples++];
	return NULL;
}

static uint64_t within(const struct fm_krange *r, uint64_t size)
{
	return fm_pages_within(r->start, r->end, r->pgoff, size);
}

static uint64_t pages_of(const struct sample *s)
{
	struct stat st;

	return is_there(s, &st) ? within(&s->r, (uint64_t)st.st_size) : 0;
}

static void look_at_pages(struct sample *s, bool again)
{
	fm_page_sample_look(&s->seen, s->r.start, s->pages, FM_PAGE_SAMPLES,
			    again);
}

static void sample(const struct fm_krange *r, uint32_t changes)
{
	struct sample *s = may_lose(r) ? sample_of(r) : NULL;
	uint64_t pages;
	bool again;

	if (!s || s->changes == changes + 1)
		return; /* this is another range of it */
	pages = pages_of(s);
	again = same_file(&s->r, r) && s->r.start == r->start &&
		s->r.end == r->end && s->pages == pages;
	s->r = *r;
	s->pages = pages;
	s->changes = changes + 1;
	look_at_pages(s, again);
}

/* Each file once: by the first of its ranges, in order of address. */
static void sample_all(void)
{
	struct fm_krange_all all;
	static uint32_t look;

	if (fm_krange_all(NULL, &all))
		return; /* this look is left out */
	look++;
	for (unsigned i = 0; i < all.n; i++)
		sample(&all.at[i], look);
	fm_free(all.at);
	for (unsigned i = nsamples; i-- > 0;)
		if (samples[i].changes != look + 1)
			samples[i] = samples[--nsamples];
}

/* Pages that came since the last look, as far as the sample tells. */
static uint64_t weight(const struct sample *s)
{
	return s->seen.n ? s->seen.came * s->pages / s->seen.n : 0;
}

static uint64_t weight_of_all(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < nsamples; i++)
		sum += weight(&samples[i]);
	return sum;
}

/* Its pages come all the time, and it is not all there. */
static bool is_cause(const struct sample *s)
{
	return s->seen.came &&
	       s->seen.missing * fm_tune.serve_nearly >= s->seen.n &&
	       weight(s) >= weight_of_all() / fm_tune.judge_share;
}

/* ---- files that the engine has never had -------------------------------- */

static bool refused; /* there is no engine here */

static int open_path(const struct sample *s)
{
	char proc[FM_PROC_FD];
	int fd = -ENOENT;

	if (fm_sys_is_file(s->r.fd, s->r.dev, s->r.ino))
		fd = fm_sys_open(fm_proc_fd(proc, s->r.fd), O_PATH, 0);
	if (fd < 0)
		fd = fm_sys_open(s->path, O_PATH, 0);
	if (fd >= 0)
		fd = fm_fd_raise(fd);
	if (fd >= 0 && !fm_sys_is_file(fd, s->r.dev, s->r.ino)) {
		fm_fd_drop(fd);
		fd = -ENOENT;
	}
	return fd;
}

/* From now on the hooks look. */
static void now_passes(struct fm_file *f, const struct stat *st)
{
	f->choice.adopted = true;
	atomic_store(&f->choice.old_calls, true);
	f->choice.calm_since_ms = fm_now_ms();
	fm_skipped_taken(st);
	fm_file_passes(f, true);
	fm_log(FM_LOG_INFO, "%s: the program waits for what the page cache has "
	       "lost of it (%s): the engine is to be tried", f->path,
	       fm_server_reason_text(atomic_load(&f->st.demote_why)));
}

/* Under the space lock. */
static int adopt_locked(const struct sample *s, int fd)
{
	struct fm_file *f = fm_file_find(s->r.dev, s->r.ino);
	struct stat st;
	int err;

	if (f) {
		fm_file_put_locked(f);
		return -EEXIST;
	}
	if (fm_sys_fstat(fd, &st))
		return -EBADF;
	refused = fm_life_need();
	if (refused || fm_mem_monitor_short())
		return -EBUSY;
	err = fm_file_adopt(fd, &st, s->path, s->r.policy, s->r.why, &f);
	if (err)
		return err;
	if (fm_demote_may_return(f, s->r.why) && fm_take_may(f)) {
		now_passes(f, &st);
		return 0;
	}
	fm_file_put_locked(f); /* closes the descriptor */
	return 1;
}

/* What costs most is asked first, but while nothing is running yet. */
static bool may_adopt(struct sample *s)
{
	if (refused || fm_now_ms() < s->not_before_ms ||
	    !fm_server_reason_passes(s->r.why) || fm_sys_confined() ||
	    fm_memory_look())
		return false;
	s->not_before_ms = fm_now_ms() + fm_pause_ms(1);
	return !fm_peers_anybody(s->r.dev, s->r.ino, s->path);
}

static void adopt(struct sample *s)
{
	uint64_t old;
	int fd, err;

	if (!may_adopt(s))
		return;
	fd = open_path(s);
	if (fd < 0)
		return;
	fm_space_lock(&old);
	err = adopt_locked(s, fd);
	fm_space_unlock(&old);
	if (err < 0)
		fm_fd_drop(fd);
	if (!err && !fm_old_calls_mark())
		refused = true;
}

bool fm_losing_forget(struct fm_file *f)
{
	const struct stat st = { .st_dev = f->dev, .st_ino = f->ino };

	fm_file_passes(f, false);
	if (!f->choice.adopted)
		return false;
	fm_skipped_back(&st, fm_served_beside_engine(f->policy));
	fm_file_put_locked(f);
	return true;
}

/* ---- a look -------------------------------------------------------------- */

static unsigned in_a_row;

/* Of the last looks, the newer the more. */
static uint32_t mean(uint32_t of, uint32_t with)
{
	return of ? of / 2 + with / 2 : with;
}

static void note_rate(struct fm_file *f, const struct sample *s,
		      const struct fm_rate *r)
{
	struct fm_rate *m = &f->choice.rate;

	*m = (struct fm_rate){
		.kernel = mean(m->kernel, r->kernel),
		.waits = mean(m->waits, r->waits),
		.kib = mean(m->kib, r->kib),
		.missing = s->seen.missing * 1000 / s->seen.n,
	};
	atomic_store(&f->choice.kernel, m->kernel);
	f->choice.calm_since_ms = fm_now_ms();
	atomic_store(&f->choice.losing, !atomic_load(&f->choice.old_calls));
}

static void loses(struct sample *s, const struct fm_rate *r)
{
	struct fm_file *f = fm_file_find(s->r.dev, s->r.ino);

	if (!f) {
		adopt(s);
		return;
	}
	if (fm_kernel_serves(f) && f->demote.passes)
		note_rate(f, s, r);
	fm_file_put(f);
}

static void look_at_causes(const struct fm_rate *r)
{
	for (unsigned i = 0; i < nsamples; i++)
		if (is_cause(&samples[i]))
			loses(&samples[i], r);
}

/* The thread that has marked them asks, and nobody takes a file before. */
static void look_at_calls(void)
{
	struct fm_file *f;
	uint64_t old;

	if (!fm_old_calls_over())
		return;
	fm_space_lock(&old);
	fm_for_each_file(f, id)
		atomic_store(&f->choice.old_calls, false);
	fm_space_unlock(&old);
}

/* What is not lost any more. */
static void calm_down(void)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id) {
		if (!fm_kernel_serves(f) || !f->demote.passes ||
		    fm_now_ms() - f->choice.calm_since_ms < fm_pause_ms(1))
			continue;
		atomic_store(&f->choice.losing, false);
		if (f->choice.adopted)
			fm_losing_forget(f);
	}
	fm_space_unlock(&old);
}

static void look(void)
{
	struct fm_rate r;

	if (!look_again(&r))
		return;
	in_a_row = r.kernel >= fm_tune.serve_lost_much ? in_a_row + 1 : 0;
	if (in_a_row)
		sample_all();
	if (atomic_load(&fm_takeable))
		look_at_calls();
	if (in_a_row >= fm_tune.serve_row)
		look_at_causes(&r);
	if (atomic_load(&fm_takeable))
		calm_down();
}

/* ---- the engine on trial ------------------------------------------------ */

static _Atomic bool trials;

bool fm_losing(const struct fm_file *f)
{
	return atomic_load(&f->choice.losing) &&
	       fm_now_ms() - f->choice.calm_since_ms < fm_pause_ms(1) / 10;
}

static struct fm_trial_second second_of(struct fm_file *f,
					const struct fm_rate *r)
{
	return (struct fm_trial_second){
		.ms = fm_now_ms(),
		.room = fm_least((uint64_t)fm_file_size(f),
				 fm_mem_monitor_all()),
		.rate = *r,
	};
}

void fm_losing_taken(struct fm_file *f)
{
	const struct fm_trial_second now = second_of(f, &f->choice.rate);

	fm_trial_begun(&f->choice.trial, &now, &f->choice.rate);
	atomic_store(&trials, true);
	atomic_store(&f->choice.losing, false);
	atomic_fetch_add(&f->st.engine_trials, 1);
}

static void say(struct fm_file *f, const char *what)
{
	fm_log(FM_LOG_INFO, "%s: %s: of a thread's time %u thousandths were "
	       "lost with the kernel (%u waits a second), %u with the engine",
	       f->path, what, atomic_load(&f->choice.kernel),
	       f->choice.rate.waits, atomic_load(&f->choice.engine));
}

static void keep(struct fm_file *f)
{
	atomic_fetch_add(&f->st.engine_kept, 1);
	say(f, "the engine keeps it");
}

static void give_back(struct fm_file *f)
{
	uint64_t old;

	say(f, "the engine was not better");
	fm_space_lock(&old);
	if (!fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_NOT_BETTER))
		f->demote.not_before_ms = f->choice.trial.hold.until_ms;
	fm_space_unlock(&old);
}

static uint32_t missing_of(struct fm_file *f)
{
	uint64_t old;

	fm_missing_begin();
	fm_space_lock(&old);
	fm_missing_add(f);
	fm_space_unlock(&old);
	return fm_missing_look();
}

static void judge(struct fm_file *f, struct fm_rate r)
{
	struct fm_trial *t = &f->choice.trial;
	struct fm_trial_second now;
	enum fm_trial_act act;

	if (fm_kernel_serves(f)) {
		t->state = FM_TRIAL_NONE; /* for another reason */
		return;
	}
	r.missing = missing_of(f);
	atomic_store(&f->choice.engine, r.engine);
	fm_log(FM_LOG_DEBUG, "%s: waits/s %u of %u, KiB/s %u of %u, missing %u "
	       "of %u thousandths", f->path, r.waits, t->before.waits, r.kib,
	       t->before.kib, r.missing, t->before.missing);
	now = second_of(f, &r);
	act = fm_trial_step(&fm_trial_of_engine, t, &now);
	if (act == FM_TRIAL_KEEP)
		keep(f);
	else if (act == FM_TRIAL_END)
		give_back(f);
}

/* The file with this number, if it is on trial; with a reference. */
static struct fm_file *on_trial(uint32_t id)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	f = fm_file_at(id);
	if (f && f->choice.trial.state == FM_TRIAL_RUNS)
		fm_file_get(f);
	else
		f = NULL;
	fm_space_unlock(&old);
	return f;
}

void fm_losing_second(const struct fm_rate *r)
{
	bool any = false;

	if (!fm_losing_trials())
		return;
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = on_trial(id);

		if (!f)
			continue;
		any = true;
		judge(f, *r);
		fm_file_put(f);
	}
	atomic_store(&trials, any);
}

bool fm_losing_trials(void)
{
	return atomic_load(&trials);
}

/* ---- life --------------------------------------------------------------- */

static void forked(void)
{
	nsamples = in_a_row = 0;
	looked.ms = 0;
	atomic_store(&trials, false);
}

__attribute__((constructor)) static void begin(void)
{
	fm_watch_look = look;
}

FM_LIFE(losing, .level = FM_LIFE_RUNNING, .forked = forked)
