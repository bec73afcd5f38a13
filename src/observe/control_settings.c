/* SPDX-License-Identifier: MIT */
/*
 * control_settings.c - settings that change while the process runs: by a
 * command, by the program (fastmap_set), or by the policy file, which is read
 * again when it has changed. One change at a time.
 */
#include <errno.h>
#include <string.h>

#include "base/control.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/cache.h"
#include "control_priv.h"
#include "file/file.h"
#include "observe.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "writeback/writeback.h"

static struct fm_lock settings_lock = FM_LOCK(FM_RANK_SETTINGS);

/* Who changed them is not here. */
static void settings_forked(void)
{
	fm_lock_reset(&settings_lock);
	fm_policy_hear_nothing();
}

FM_LIFE(settings, .level = FM_LIFE_RUNNING, .forked = settings_forked)

/* Files that are mapped get what is another value now for them. */
static void renew_files(void)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id)
		f->policy = fm_policy_renew(f->policy, f->path);
}

static bool same_size(const struct fm_cache_size *a,
		      const struct fm_cache_size *b)
{
	return a->bytes == b->bytes && a->percent == b->percent &&
	       a->automatic == b->automatic;
}

/* The settings are others than before: bring them into effect. */
static void control_settings_apply(const struct fm_settings *before)
{
	const struct fm_settings *s = fm_settings();

	if (!fm_life_running())
		return;
	if (!same_size(&s->cache, &before->cache) || s->lazy != before->lazy)
		fm_mem_monitor_set(&s->cache);
	fm_shares_reload();
	renew_files();
}

/* ---- set ---------------------------------------------------------------- */

/* More than others leave, or less than a minimum, is not in effect. */
static void answer_cache(struct fm_request *r)
{
	const uint64_t asked = fm_cache_bytes(&fm_settings()->cache);
	const uint64_t now = fm_mem_monitor_target();

	fm_answer_ok(r, "%lu%s", (unsigned long)now,
		     now == asked ? "" :
		     now < asked  ? " bytes: as much as there is room for now" :
				    " bytes: no less is of use");
}

static void answer_lazy(struct fm_request *r, const char *text)
{
	const uint64_t now = fm_mem_monitor_lazy();

	fm_answer_ok(r, "%s%s", text, !now && fm_settings()->lazy ?
		     ": none, as the cache has a size of its own" : "");
}

static void answer_ahead(struct fm_request *r, const char *text)
{
	const uint64_t most = fm_ahead_most() * FM_PAGE;

	if (fm_policy_default()->map_ahead <= most)
		fm_answer_ok(r, "%s", text);
	else
		fm_answer_ok(r, "%lu bytes: an eighth of the cache",
			     (unsigned long)most);
}

static void answer_high(struct fm_request *r, const char *text)
{
	const uint64_t most = fm_wb_most() * 100 / fm_cache_limit();

	if (most <= fm_policy_default()->wb_high)
		fm_answer_ok(r, "%s", text);
	else
		fm_answer_ok(r, "%lu: more, as most of what is written is soon "
			     "stored to again", (unsigned long)most);
}

/* By the key; of others the value is in effect at once. */
static const struct {
	const char *key;
	void (*answer)(struct fm_request *r, const char *text);
} beside_others[] = {
	{ "lazy", answer_lazy },
	{ "map-ahead", answer_ahead },
	{ "wb-high", answer_high },
};

static void answer_running(struct fm_request *r, const char *key,
			   const char *text)
{
	if (!strcmp(key, "cache")) {
		answer_cache(r);
		return;
	}
	for (unsigned i = 0; i < sizeof(beside_others) /
				    sizeof(beside_others[0]); i++)
		if (!strcmp(key, beside_others[i].key)) {
			beside_others[i].answer(r, text);
			return;
		}
	fm_answer_ok(r, "%s", text);
}

static void answer_value(struct fm_request *r, const char *key)
{
	char text[64];

	if (!fm_policy_value(key, text, sizeof(text)))
		fm_answer_error(r, "no such option");
	else if (fm_life_running())
		answer_running(r, key, text);
	else
		fm_answer_ok(r, "%s%s", text, !strcmp(key, "log") ? "" :
			     ": without effect until the engine serves a file");
}

/* 0; or -errno, and why. */
static int settings_change(const char *key, const char *value, char *why,
			   size_t size)
{
	const struct fm_settings *before = fm_settings();
	int err = fm_policy_judge(key, value, why, size);

	if (err)
		return err;
	err = fm_policy_override(key, value);
	if (err) {
		fm_join(why, size, err == -EDOM ?
			"wb-low has to be below wb-high" :
			fm_error_text(-err), "", "");
		return err;
	}
	if (!strcmp(key, "cache") && fm_life_running())
		fm_mem_monitor_set(&fm_settings()->cache);
	control_settings_apply(before);
	return 0;
}

static void control_settings_set(struct fm_request *r, const char *key,
				 const char *value)
{
	char why[256];

	FM_HOLD(&settings_lock);
	if (settings_change(key, value, why, sizeof(why)))
		fm_answer_error(r, "%s", why);
	else
		answer_value(r, key);
}

int fm_settings_set(const char *key, const char *value)
{
	char why[256];

	FM_HOLD(&settings_lock);
	return settings_change(key, value, why, sizeof(why));
}

static void run_set(struct fm_request *r)
{
	char *value = strchr(r->args, ' ');

	if (!value) {
		fm_answer_error(r, "wanted: KEY VALUE");
		return;
	}
	*value++ = 0;
	control_settings_set(r, r->args, value + strspn(value, " "));
}

static void run_cache(struct fm_request *r)
{
	control_settings_set(r, "cache", r->args);
}

FM_CONTROL(control_settings_set, .word = "set", .args = "KEY VALUE",
	   .run = run_set,
	   .help = "another value for an option; answers with the one in "
		   "effect")
FM_CONTROL(cache, .word = "cache", .args = "SIZE", .run = run_cache,
	   .help = "set cache: bytes (512M), a share (30%), auto")

/* ---- the policy file ---------------------------------------------------- */

static struct stat seen;

static bool control_settings_same_file(const struct stat *a,
				       const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim));
}

/* By stat, not inotify: it costs a microsecond a second, and follows editors
 * that replace the file. False: it is as it was, or not there. */
static bool is_new(void)
{
	const char *source = fm_settings()->source;
	struct stat st;

	if (!source || fm_sys_stat(source, &st) < 0 ||
	    control_settings_same_file(&st, &seen))
		return false;
	seen = st;
	return true;
}

void fm_control_policy_seen(void)
{
	is_new();
}

void fm_control_policy_look(void)
{
	const struct fm_settings *before;

	if (!is_new())
		return;
	FM_HOLD(&settings_lock);
	before = fm_settings();
	fm_policy_reload();
	fm_log(FM_LOG_INFO, "policy file read again");
	control_settings_apply(before);
}

/* ---- reload ------------------------------------------------------------- */

#define CHANGES 512

/* "cache 32M -> 64M, log 1 -> 2" */
static void control_settings_changes(const struct fm_policy_values *was,
				     char *text, size_t size)
{
	struct fm_policy_values now;
	size_t n = 0;

	fm_policy_values(&now);
	*text = 0;
	for (unsigned i = 0; i < now.n && n + 1 < size; i++)
		if (strcmp(now.value[i], was->value[i]) &&
		    !fm_join(text + n, size - n, n ? ", " : "", now.name[i],
			     " ")) {
			n += strlen(text + n);
			if (!fm_join(text + n, size - n, was->value[i], " -> ",
				     now.value[i]))
				n += strlen(text + n);
		}
}

static void control_settings_reload(struct fm_request *r)
{
	FM_HOLD(&settings_lock);
	const struct fm_settings *before = fm_settings();
	static struct fm_policy_values was;
	char bad[256], text[CHANGES];

	fm_policy_values(&was);
	fm_control_policy_seen(); /* not once more in a second */
	fm_policy_reload_heard(bad, sizeof(bad));
	control_settings_apply(before);
	control_settings_changes(&was, text, sizeof(text));
	if (*bad)
		fm_answer_error(r, "%s; the rest is in effect%s%s", bad,
				*text ? ": " : "", text);
	else if (!fm_settings()->source)
		fm_answer_error(r, "there is no policy file");
	else
		fm_answer_ok(r, "%s: %s", fm_settings()->source,
			     *text ? text : "no value for the process is "
				     "another");
}

FM_CONTROL(control_settings_reload, .word = "reload", .args = "",
	   .run = control_settings_reload,
	   .help = "read the policy file now; says what is another value")
