/* SPDX-License-Identifier: MIT */
/*
 * promote_when.c - when a file comes back to the engine: nothing forbids it, it
 * costs less there, and nothing holds.
 */
#include <string.h>

#include "advise/advise.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "judge.h"
#include "engine_trial.h"
#include "nonresident.h"
#include "peers/peers.h"
#include "policy.h"
#include "serve/serve.h"
#include "promote.h"
#include "tunables.h"
#include "vetoes.h"

/* The engine would begin with nothing, and the kernel has nearly all. Of a file
 * of others mincore(2) says that it is all there. */
static bool is_warm(struct fm_file *f)
{
	if (f->policy->warm == FM_WARM_ENGINE)
		return false;
	fm_nonresident_begin();
	fm_nonresident_add(f);
	return fm_nonresident_look() < 1000 / fm_tune.serve_nearly;
}

/* Where the kernel has it since it misses less, it is to be measured that it
 * does not. Otherwise it is enough that it has lost some of it. */
static bool engine_costs_less(struct fm_file *f)
{
	const unsigned why = atomic_load(&f->st->demote_why);

	if (fm_judge_tries(f))
		return fm_judge_returns();
	if (f->demote->adopted || fm_server_reason_waited(why))
		return fm_engine_wanted(f);
	return !is_warm(f);
}

/* Under the space lock. */
static bool promote_when_is_due(struct fm_file *f)
{
	return fm_settings()->promote_ms &&
	       !fm_holds(&f->choice->back, fm_now_ms()) &&
	       !fm_vetoes(f, FM_VETO_ASKED | FM_VETO_OTHERS | FM_VETO_MEMORY,
			  NULL) &&
	       engine_costs_less(f);
}

/* Nothing is left of it, or something that never comes back. False: nor is it
 * known any more. */
static bool promote_when_look_at(struct fm_file *f)
{
	return !f->demote->passes || !fm_vetoes(f, FM_VETO_LASTING, NULL) ||
	       !fm_engine_trial_forget(f);
}

/* The file with this number, if it is to come back; with a reference. */
static struct fm_file *promote_when_pick(uint32_t id, const char *path)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	f = fm_file_at(id);
	if (f && promote_when_look_at(f) && f->demote->passes &&
	    f->demote->shut &&
	    (path ? !*path || !strcmp(path, f->path) : promote_when_is_due(f)))
		fm_file_get(f);
	else
		f = NULL;
	return f;
}

static void wait_again(struct fm_file *f, int err)
{
	fm_log(FM_LOG_DEBUG, "%s: not promoted now, errno %d: %s", f->path,
	       -err, fm_error_text(-err));
	FM_HOLD_SPACE();
	fm_file_wait_again(f);
}

static enum fm_server_reason why_of(const struct fm_file *f)
{
	return fm_judge_tries(f) ? FM_WHY_SLOWER :
	       fm_engine_wanted(f) ? FM_WHY_LOSES : FM_WHY_OVER;
}

static unsigned take_all(const char *path, struct fm_promote_refusal *ret)
{
	enum fm_server_reason why;
	unsigned n = 0;
	int err;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = promote_when_pick(id, path);

		if (!f)
			continue;
		why = path ? FM_WHY_ASKED : why_of(f);
		/* first what costs least */
		err = !path && fm_peers_in_use(f) ? -EBUSY :
				fm_promote(f, why, &ret->why);
		if (err && !path)
			wait_again(f, err);
		else if (why == FM_WHY_LOSES)
			fm_engine_trial_taken(f);
		ret->what = err ? "not now, because of " : ret->what;
		n += !err;
		fm_file_put(f);
	}
	return n;
}

/* Under the space lock. What the engine has comes last: of several files it is
 * no reason. */
static void say_unwanted(const struct fm_file *f,
			 struct fm_promote_refusal *ret)
{
	if (fm_kernel_serves(f)) {
		ret->what = "not any more in this process: ";
		ret->why = fm_server_reason_text(
			atomic_load(&f->st->demote_why));
	} else if (!ret->what) {
		ret->what = "the engine serves it";
	}
}

/* Nothing could even be tried. */
static void say_unknown(const char *path, struct fm_promote_refusal *ret)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id)
		if (!*path || !strcmp(path, f->path))
			say_unwanted(f, ret);
	fm_space_unlock(&old);
	if (!ret->what)
		ret->what = "the engine has had no such file in this process: "
			    "fastmap why says what it waits for";
}

unsigned fm_promote_all(const char *path, struct fm_promote_refusal *ret)
{
	unsigned n;

	*ret = (struct fm_promote_refusal){ .why = "" };
	n = take_all(path, ret);
	if (!n && !ret->what)
		say_unknown(path, ret);
	return n;
}

static void promote_when_every_second(void)
{
	struct fm_promote_refusal unsaid = { 0 };

	fm_judge_second();
	if (!atomic_load(&fm_promotable))
		return;
	fm_engine_trial_calm();
	take_all(NULL, &unsaid);
}

FM_LIFE(promote_when, .level = FM_LIFE_RUNNING,
	.second = promote_when_every_second)
