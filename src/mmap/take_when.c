/* SPDX-License-Identifier: MIT */
/*
 * take_when.c - when a file comes back to the engine: its cause is over, has
 * been for a while, and the page cache does not have all of it.
 */
#include <string.h>

#include "advise/advise.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "losing.h"
#include "map/map.h"
#include "missing.h"
#include "peers/peers.h"
#include "policy.h"
#include "take_back.h"
#include "trial.h"

/* A page here and there: is nearly all of it in the page cache? */
static bool is_cached(const struct fm_krange *r, uint64_t size)
{
	struct fm_page_sample s = { .n = 0 };

	fm_page_sample_look(&s, r->start,
			    fm_pages_within(r->start, r->end, r->pgoff, size),
			    FM_PAGE_SAMPLES, false);
	return s.missing * 16 < s.n;
}

/* The engine would begin with nothing, and the kernel has it all. Of a file of
 * others mincore(2) says that it is all there. */
static bool is_warm(struct fm_file *f)
{
	const struct fm_file_id id = { f->dev, f->ino };
	struct fm_krange r;

	return f->policy->warm != FM_WARM_ENGINE &&
	       fm_krange_list(&id, &r, 1) &&
	       is_cached(&r, (uint64_t)fm_file_size(f));
}

static bool loses(const struct fm_file *f)
{
	return fm_losing(f) && !fm_peers_others(f) && !fm_mem_monitor_short();
}

static bool is_over(struct fm_file *f)
{
	if (f->choice.adopted)
		return loses(f);
	switch ((enum fm_server_reason)atomic_load(&f->st.demote_why)) {
	case FM_WHY_TRIED:
	case FM_WHY_MEASURED:
		return fm_trial_lost() && !fm_peers_others(f) &&
		       !fm_mem_monitor_short();
	case FM_WHY_ASKED:
		return false; /* till it is asked for again */
	case FM_WHY_FITS:
	case FM_WHY_NOT_BETTER:
		return loses(f);
	case FM_WHY_CACHE_GONE:
		return !fm_mem_monitor_short() && !is_warm(f);
	default:
		return !fm_peers_others(f) && !fm_mem_monitor_short() &&
		       !is_warm(f);
	}
}

/* Under the space lock. */
static bool is_due(struct fm_file *f)
{
	return f->demote.passes && f->demote.shut &&
	       fm_settings()->take_back_ms &&
	       fm_now_ms() >= f->demote.not_before_ms && is_over(f);
}

static bool is_wanted(const struct fm_file *f, const char *path)
{
	return f->demote.passes && f->demote.shut &&
	       (!*path || !strcmp(path, f->path));
}

/* Nothing is left of it, or something that never comes back. False: nor is it
 * known any more. */
static bool look_at(struct fm_file *f)
{
	return !f->demote.passes || fm_take_may(f) || !fm_losing_forget(f);
}

/* The file with this number, if it is to come back; with a reference. */
static struct fm_file *pick(uint32_t id, const char *path)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	f = fm_file_at(id);
	if (f && look_at(f) && (path ? is_wanted(f, path) : is_due(f)))
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
	return fm_trial_has(f) ? FM_WHY_SLOWER :
	       fm_losing(f) ? FM_WHY_LOSES : FM_WHY_OVER;
}

static unsigned take_all(const char *path)
{
	enum fm_server_reason why;
	unsigned n = 0;
	int err;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = pick(id, path);

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

static void every_second(void)
{
	fm_trial_second();
	fm_losing_second();
	if (atomic_load(&fm_takeable))
		take_all(NULL);
}

FM_LIFE(take_when, .level = FM_LIFE_RUNNING, .second = every_second)
