/* SPDX-License-Identifier: MIT */
/*
 * take_when.c - when a file comes back to the engine: nothing forbids it, it
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
#include "losing.h"
#include "missing.h"
#include "peers/peers.h"
#include "policy.h"
#include "serve/serve.h"
#include "take_back.h"
#include "tunables.h"

/* The engine would begin with nothing, and the kernel has nearly all. Of a file
 * of others mincore(2) says that it is all there. */
static bool is_warm(struct fm_file *f)
{
	if (f->policy->warm == FM_WARM_ENGINE)
		return false;
	fm_missing_begin();
	fm_missing_add(f);
	return fm_missing_look() < 1000 / fm_tune.serve_nearly;
}

/* What forbids the engine, whatever it costs. */
static bool is_forbidden(const struct fm_file *f)
{
	return atomic_load(&f->st.demote_why) == FM_WHY_ASKED ||
	       fm_peers_others(f) || fm_mem_monitor_short();
}

/* Where the kernel has it since it misses less, it is to be measured that it
 * does not. Otherwise it is enough that it has lost some of it. */
static bool engine_costs_less(struct fm_file *f)
{
	const unsigned why = atomic_load(&f->st.demote_why);

	if (fm_judge_tries(f))
		return fm_judge_returns();
	if (f->demote.adopted || why == FM_WHY_FITS || why == FM_WHY_NOT_BETTER)
		return fm_losing(f);
	return !is_warm(f);
}

/* Under the space lock. */
static bool take_when_is_due(struct fm_file *f)
{
	return f->demote.passes && f->demote.shut &&
	       fm_settings()->take_back_ms &&
	       !fm_holds(&f->choice->back, fm_now_ms()) && !is_forbidden(f) &&
	       engine_costs_less(f);
}

static bool take_when_is_wanted(const struct fm_file *f, const char *path)
{
	return f->demote.passes && f->demote.shut &&
	       (!*path || !strcmp(path, f->path));
}

/* Nothing is left of it, or something that never comes back. False: nor is it
 * known any more. */
static bool take_when_look_at(struct fm_file *f)
{
	return !f->demote.passes || fm_take_may(f) || !fm_losing_forget(f);
}

/* The file with this number, if it is to come back; with a reference. */
static struct fm_file *take_when_pick(uint32_t id, const char *path)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	f = fm_file_at(id);
	if (f && take_when_look_at(f) &&
	    (path ? take_when_is_wanted(f, path) : take_when_is_due(f)))
		fm_file_get(f);
	else
		f = NULL;
	fm_space_unlock(&old);
	return f;
}

static void wait_again(struct fm_file *f, int err)
{
	uint64_t old;

	fm_log(FM_LOG_DEBUG, "%s: not taken back now, errno %d: %s", f->path,
	       -err, fm_error_text(-err));
	fm_space_lock(&old);
	fm_file_wait_again(f);
	fm_space_unlock(&old);
}

static enum fm_server_reason why_of(const struct fm_file *f)
{
	return fm_judge_tries(f) ? FM_WHY_SLOWER :
	       fm_losing(f) ? FM_WHY_LOSES : FM_WHY_OVER;
}

static unsigned take_all(const char *path)
{
	enum fm_server_reason why;
	unsigned n = 0;
	int err;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = take_when_pick(id, path);

		if (!f)
			continue;
		why = path ? FM_WHY_ASKED : why_of(f);
		/* first what costs least */
		err = !path && fm_peers_in_use(f) ? -EBUSY :
						    fm_take_back(f, why);
		if (err)
			wait_again(f, err);
		else if (why == FM_WHY_LOSES)
			fm_losing_taken(f);
		n += !err;
		fm_file_put(f);
	}
	return n;
}

unsigned fm_take_back_now(const char *path)
{
	return take_all(path);
}

static void take_when_every_second(void)
{
	fm_judge_second();
	if (!atomic_load(&fm_takeable))
		return;
	fm_losing_calm();
	take_all(NULL);
}

FM_LIFE(take_when, .level = FM_LIFE_RUNNING, .second = take_when_every_second)
