/* SPDX-License-Identifier: MIT */
#include "engine_trial.h"

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
#include "nonresident.h"
#include "inflight_syscalls.h"
#include "peers/peers.h"
#include "policy.h"
#include "serve/serve.h"
#include "unserved.h"
#include "promote.h"
#include "tunables.h"
#include "vetoes.h"
#include "vm/vm.h"

#define BLOCK 512u /* unit: of st_blocks */

static struct {
	unsigned in_a_row;   /* looks at which much was lost */
	uint32_t looks;
	uint64_t ms;         /* of the last one */
	bool refused;        /* there is no engine here */
	_Atomic bool trials; /* the engine is on trial for a file */
} state;

/* ---- which file it is --------------------------------------------------- */

/* Pages of a file here and there: which of them are in the page cache. In its
 * entry, from the first look at it on. */
struct fm_loss {
	struct fm_page_sample seen;
	uintptr_t start; /* of its first range */
	uint64_t pages;
	uint64_t blocks; /* of the file, in pages */
	uint64_t not_before_ms; /* looked at whether others use it */
	uint32_t look;
};

struct look {
	const struct fm_rate *rate;
	struct fm_krange_all all; /* the first range of each file */
	uint64_t most; /* pages that came, of one of these */
	uint64_t filled; /* holes, of all of these */
	char path[256]; /* size: as in the statistics */
	struct stat st;
};

/* By the policy and the reason; how it is mapped fm_vetoes says. */
static bool may_lose(const struct fm_krange *r)
{
	return r->policy && r->policy->serve == FM_SERVE_AUTO &&
	       r->policy->warm == FM_WARM_AUTO && r->shared;
}

static bool find_path(struct look *l, const struct fm_krange *r)
{
	struct fm_file *f = fm_file_find(r->dev, r->ino);

	l->path[0] = 0;
	if (f) {
		memcpy(l->path, f->path, sizeof(l->path));
		fm_file_put(f);
	} else {
		fm_unserved_path(r->dev, r->ino, l->path);
	}
	return l->path[0] == '/' &&
	       !fm_sys4(SYS_newfstatat, AT_FDCWD, l->path, &l->st, 0) &&
	       l->st.st_ino == r->ino && l->st.st_dev == r->dev;
}

static struct fm_loss *loss_of(const struct fm_krange *r)
{
	struct fm_serve_entry *c = fm_serve_of(r->dev, r->ino);

	if (c && !c->loss)
		c->loss = fm_alloc(sizeof(*c->loss));
	return c ? c->loss : NULL;
}

/* Pages that came since the last look, as far as the sample tells. */
static uint64_t engine_trial_weight(const struct fm_loss *s)
{
	return s->seen.n ? s->seen.came * s->pages / s->seen.n : 0;
}

static void note_blocks(struct look *l, struct fm_loss *s, bool again)
{
	const uint64_t blocks = (uint64_t)l->st.st_blocks * BLOCK / FM_PAGE;

	if (again && blocks > s->blocks)
		l->filled += blocks - s->blocks;
	s->blocks = blocks;
}

/* False: it is not looked at, or this is another range of it. */
static bool engine_trial_sample(struct look *l, const struct fm_krange *r)
{
	struct fm_loss *s = may_lose(r) ? loss_of(r) : NULL;
	uint64_t pages;
	bool again;

	if (!s || s->look == state.looks || !find_path(l, r))
		return false;
	pages = fm_pages_within(r->start, r->end, r->pgoff,
				(uint64_t)l->st.st_size);
	again = s->look + 1 == state.looks && s->start == r->start &&
		s->pages == pages;
	note_blocks(l, s, again);
	s->start = r->start;
	s->pages = pages;
	s->look = state.looks;
	fm_page_sample_look(&s->seen, s->start, pages, FM_PAGE_SAMPLES, again);
	if (l->most < engine_trial_weight(s))
		l->most = engine_trial_weight(s);
	return true;
}

/* Each file once: by the first of its ranges, in order of address. */
static void sample_all(struct look *l)
{
	unsigned n = 0;

	state.looks++;
	for (unsigned i = 0; i < l->all.n; i++)
		if (engine_trial_sample(l, &l->all.at[i]))
			l->all.at[n++] = l->all.at[i];
	l->all.n = n;
}

/* Its pages come all the time, and it is not all there. */
static bool is_cause(const struct look *l, const struct fm_loss *s)
{
	return s->seen.came &&
	       s->seen.missing * fm_tune.serve_nearly >= s->seen.n &&
	       fm_trial_to_blame(engine_trial_weight(s), l->most);
}

/* ---- files that the engine has never had -------------------------------- */

static int open_path(const struct look *l, const struct fm_krange *r)
{
	char proc[FM_PROC_FD];
	int fd = -ENOENT;

	if (fm_sys_is_file(r->fd, r->dev, r->ino))
		fd = fm_sys_open(fm_proc_fd(proc, r->fd), O_PATH, 0);
	if (fd < 0)
		fd = fm_sys_open(l->path, O_PATH, 0);
	if (fd >= 0)
		fd = fm_fd_raise(fd);
	if (fd >= 0 && !fm_sys_is_file(fd, r->dev, r->ino)) {
		fm_fd_drop(fd);
		fd = -ENOENT;
	}
	return fd;
}

/* From now on the hooks look. */
static void now_passes(struct fm_file *f)
{
	f->demote->adopted = true;
	fm_veto_put(f->serve, FM_VETO_INFLIGHT, true);
	f->choice->calm_since_ms = fm_now_ms();
	fm_unserved_by(f->dev, f->ino, FM_BY_NOBODY);
	fm_file_passes(f, true);
	fm_log(FM_LOG_INFO, "%s: the program waits for what the page cache has "
	       "lost of it (%s): the engine is to be tried", f->path,
	       fm_server_reason_text(atomic_load(&f->st->demote_why)));
}

/* Under the space lock. */
static int adopt_locked(const struct look *l, const struct fm_krange *r, int fd)
{
	struct fm_file *f = fm_file_find(r->dev, r->ino);
	struct stat st;
	int err;

	if (f) {
		fm_file_put_locked(f);
		return -EEXIST;
	}
	if (fm_sys_fstat(fd, &st))
		return -EBADF;
	if (fm_mem_monitor_short() || !fm_mem_monitor_begins())
		return -EBUSY;
	state.refused = fm_life_need();
	if (state.refused)
		return -EBUSY;
	err = fm_file_adopt(fd, &st, l->path, r->policy, r->why, &f);
	if (err)
		return err;
	if (fm_demote_may_return(f, r->why) &&
	    !fm_vetoes(f, FM_VETO_LASTING, NULL)) {
		now_passes(f);
		state.refused = !fm_inflight_syscalls_mark();
		return 0;
	}
	fm_file_put_locked(f); /* closes the descriptor */
	return 1;
}

/* What costs most is asked last. */
static bool may_adopt(const struct look *l, const struct fm_krange *r)
{
	struct fm_serve_entry *c = fm_serve_of(r->dev, r->ino);

	if (state.refused || fm_now_ms() < c->loss->not_before_ms ||
	    !fm_server_reason_passes(r->why) ||
	    fm_veto_put(c, FM_VETO_LOCKED, fm_memory_look()))
		return false;
	c->loss->not_before_ms = fm_now_ms() + fm_pause_ms(1);
	return !fm_veto_put(c, FM_VETO_OTHERS,
			    fm_peers_anybody(r->dev, r->ino, l->path));
}

static void engine_trial_adopt(struct look *l, const struct fm_krange *r)
{
	uint64_t old;
	int fd, err;

	if (!find_path(l, r) || !may_adopt(l, r))
		return;
	fd = open_path(l, r);
	if (fd < 0)
		return;
	fm_space_lock(&old);
	err = adopt_locked(l, r, fd);
	fm_space_unlock(&old);
	if (err < 0)
		fm_fd_drop(fd);
}

bool fm_engine_trial_forget(struct fm_file *f)
{
	fm_file_passes(f, false);
	if (!f->demote->adopted)
		return false;
	fm_unserved_by(f->dev, f->ino, fm_served_beside_engine(f->policy));
	fm_file_put_locked(f);
	return true;
}

/* ---- a look -------------------------------------------------------------- */

/* Of the last looks, the newer the more. */
static uint32_t mean(uint32_t of, uint32_t with)
{
	return of ? of / 2 + with / 2 : with;
}

static void note_rate(struct fm_file *f, const struct fm_loss *s,
		      const struct fm_rate *r)
{
	struct fm_rate *m = &f->choice->rate;

	*m = (struct fm_rate){
		.kernel = mean(m->kernel, r->kernel),
		.waits = mean(m->waits, r->waits),
		.kib = mean(m->kib, r->kib),
		.missing = s->seen.missing * 1000 / s->seen.n,
	};
	atomic_store(&f->choice->kernel, m->kernel);
	f->choice->calm_since_ms = fm_now_ms();
	atomic_store(&f->choice->engine_wanted,
		     !fm_vetoes(f, FM_VETO_INFLIGHT, NULL));
}

static void loses(struct look *l, const struct fm_krange *r)
{
	struct fm_file *f = fm_file_find(r->dev, r->ino);

	if (!f) {
		engine_trial_adopt(l, r);
		return;
	}
	if (fm_kernel_serves(f) && f->demote->passes)
		note_rate(f, loss_of(r), l->rate);
	fm_file_put(f);
}

/* A first store to a hole counts as a wait, and asks no device. */
static uint64_t lost_by_reads(const struct look *l, uint64_t ms)
{
	const uint64_t waits = l->rate->waits;
	const uint64_t filled = l->filled * FM_SECOND_MS / (ms + 1);

	return filled < waits ? l->rate->kernel * (waits - filled) / waits : 0;
}

void fm_engine_trial_look(const struct fm_rate *r)
{
	struct look l = { .rate = r };
	const uint64_t since_ms = state.ms;

	state.ms = fm_now_ms();
	state.in_a_row = r->kernel >= fm_tune.serve_lost_much ?
				 state.in_a_row + 1 : 0;
	if (!state.in_a_row || !fm_settings()->promote_ms ||
	    fm_sys_confined() || fm_krange_all(NULL, &l.all))
		return;
	sample_all(&l);
	if (lost_by_reads(&l, state.ms - since_ms) < fm_tune.serve_lost_much)
		state.in_a_row = 0;
	for (unsigned i = 0; i < l.all.n; i++)
		if (state.in_a_row >= fm_tune.serve_row &&
		    is_cause(&l, loss_of(&l.all.at[i])))
			loses(&l, &l.all.at[i]);
	fm_free(l.all.at);
}

/* What is not lost any more. */
static void calm_down(struct fm_file *f)
{
	if (!fm_kernel_serves(f) || !f->demote->passes ||
	    fm_now_ms() - f->choice->calm_since_ms < fm_pause_ms(1))
		return;
	atomic_store(&f->choice->engine_wanted, false);
	if (f->demote->adopted)
		fm_engine_trial_forget(f);
}

/* Nobody takes a file while a call is under way that was marked with it. */
void fm_engine_trial_calm(void)
{
	struct fm_file *f;
	bool over;

	FM_HOLD_SPACE();
	over = fm_inflight_syscalls_over();
	fm_for_each_file(f, id) {
		if (over)
			fm_veto_put(f->serve, FM_VETO_INFLIGHT, false);
		calm_down(f);
	}
}

/* ---- the engine on trial ------------------------------------------------ */

bool fm_engine_wanted(const struct fm_file *f)
{
	return atomic_load(&f->choice->engine_wanted) &&
	       fm_now_ms() - f->choice->calm_since_ms < fm_pause_ms(1) / 10;
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

void fm_engine_trial_taken(struct fm_file *f)
{
	const struct fm_trial_second now = second_of(f, &f->choice->rate);

	fm_trial_begun(&f->choice->trial, &now, &f->choice->rate);
	atomic_store(&state.trials, true);
	atomic_store(&f->choice->engine_wanted, false);
	atomic_fetch_add(&f->st->engine_trials, 1);
}

static void engine_trial_say(struct fm_file *f, const char *what)
{
	fm_log(FM_LOG_INFO, "%s: %s: of a thread's time %u thousandths were "
	       "lost with the kernel (%u waits a second), %u with the engine",
	       f->path, what, atomic_load(&f->choice->kernel),
	       f->choice->rate.waits, atomic_load(&f->choice->engine));
}

static void engine_trial_keep(struct fm_file *f)
{
	atomic_fetch_add(&f->st->engine_kept, 1);
	engine_trial_say(f, "the engine keeps it");
}

static void give_back(struct fm_file *f)
{
	engine_trial_say(f, "the engine was not better");
	FM_HOLD_SPACE();
	if (!fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_NOT_BETTER))
		f->choice->back.until_ms = f->choice->trial.hold.until_ms;
}

static uint32_t nonresident_of(struct fm_file *f)
{
	uint64_t old;

	fm_nonresident_begin();
	fm_space_lock(&old);
	fm_nonresident_add(f);
	fm_space_unlock(&old);
	return fm_nonresident_look();
}

static void engine_trial_judge(struct fm_file *f, struct fm_rate r)
{
	struct fm_trial *t = &f->choice->trial;
	struct fm_trial_second now;
	enum fm_trial_act act;

	if (fm_kernel_serves(f)) {
		t->state = FM_TRIAL_NONE; /* for another reason */
		return;
	}
	r.missing = nonresident_of(f);
	atomic_store(&f->choice->engine, r.engine);
	fm_log(FM_LOG_DEBUG, "%s: waits/s %u of %u, KiB/s %u of %u, missing %u "
	       "of %u thousandths", f->path, r.waits, t->before.waits, r.kib,
	       t->before.kib, r.missing, t->before.missing);
	now = second_of(f, &r);
	act = fm_trial_step(&fm_trial_of_engine, t, &now);
	if (act == FM_TRIAL_KEEP)
		engine_trial_keep(f);
	else if (act == FM_TRIAL_END)
		give_back(f);
}

/* The file with this number, if it is on trial; with a reference. */
static struct fm_file *engine_trial_on_trial(uint32_t id)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	f = fm_file_at(id);
	if (f && f->choice->trial.state == FM_TRIAL_RUNS)
		fm_file_get(f);
	else
		f = NULL;
	return f;
}

void fm_engine_trial_second(const struct fm_rate *r)
{
	bool any = false;

	if (!fm_engine_trial_runs())
		return;
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = engine_trial_on_trial(id);

		if (!f)
			continue;
		any = true;
		engine_trial_judge(f, *r);
		fm_file_put(f);
	}
	atomic_store(&state.trials, any);
}

bool fm_engine_trial_runs(void)
{
	return atomic_load(&state.trials);
}

/* ---- life --------------------------------------------------------------- */

static void engine_trial_forked(void)
{
	state.in_a_row = 0;
	atomic_store(&state.trials, false);
}

FM_LIFE(engine_trial, .level = FM_LIFE_RUNNING, .forked = engine_trial_forked)
