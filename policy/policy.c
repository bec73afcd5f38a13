/* SPDX-License-Identifier: MIT */
/*
 * policy.c - the current set: built from defaults, then the policy file, then
 * the environment; asked by the engine.
 */
#include "policy.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "glob.h"
#include "heard.h"
#include "set.h"
#include "tunables.h"

/* Until fm_policy_load: everything off. */
static const struct fm_set nothing = {
	.process = { .mode = FM_MODE_OFF, .log_level = FM_LOG_WARN },
};
static _Atomic(const struct fm_set *) current = &nothing;

/* How the process was started, for a reload. The program may change its
 * environment and its argv later, so these are copies. */
static struct {
	struct fm_arena arena;
	struct fm_who who;
	const char **value; /* of fm_options[i].env, or NULL */
	const char *policy, *config_home, *state_home, *home, *runtime_dir;
} start;

/* What most processes need of memory for settings, each half once: maps of
 * their own would be a part of what a short program takes longer. */
static struct fm_arena early_arena(unsigned half)
{
	static _Alignas(max_align_t) char early[2][2048];
	static bool given[2];

	if (given[half])
		return (struct fm_arena){ NULL, 0, NULL };
	given[half] = true;
	return (struct fm_arena){ early[half], sizeof(early[half]), NULL };
}

static const struct fm_set *set_now(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

const struct fm_settings *fm_settings(void)
{
	return &set_now()->process;
}

static const char *policy_env_get(char **envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (**envp == *name && !strncmp(*envp, name, n) &&
		    (*envp)[n] == '=')
			return fm_arena_text(&start.arena, *envp + n + 1,
					     strlen(*envp + n + 1));
	return NULL;
}

/* Asked for where it is wanted: most processes compare it with nothing. */
static void know_exe(void)
{
	char buf[4096];
	const char *exe = NULL;
	long n;

	if (start.who.exe)
		return;
	n = fm_sys_readlink("/proc/self/exe", buf, sizeof(buf));
	if (n > 0)
		exe = fm_arena_text(&start.arena, buf, (size_t)n);
	start.who.exe = exe ? exe : "";
}

static int remember_start(const char *argv0, const char *exe, char **envp)
{
	const char *name = fm_base_name(argv0);

	start.who.name = fm_arena_text(&start.arena, name, strlen(name));
	if (exe)
		start.who.exe = fm_arena_text(&start.arena, exe, strlen(exe));
	start.policy = policy_env_get(envp, "FASTMAP_POLICY");
	start.config_home = policy_env_get(envp, "XDG_CONFIG_HOME");
	start.state_home = policy_env_get(envp, "XDG_STATE_HOME");
	start.home = policy_env_get(envp, "HOME");
	start.runtime_dir = policy_env_get(envp, "XDG_RUNTIME_DIR");
	start.value = fm_arena_get(&start.arena,
				   fm_option_count * sizeof(char *));
	if (!start.who.name || !start.value)
		return -ENOMEM;
	for (unsigned i = 0; i < fm_option_count; i++)
		if (fm_options[i].env)
			start.value[i] =
				policy_env_get(envp, fm_options[i].env);
	return 0;
}

static bool loading; /* for the first time */

/* ---- the policy file --------------------------------------------------- */

/* DIR MIDDLE NAME.policy into buf, when there is such a file. */
static bool candidate(char *buf, size_t size, const char *dir,
		      const char *middle)
{
	size_t n;

	if (!dir || dir[0] != '/' ||
	    fm_join(buf, size, dir, middle, "/fastmap/"))
		return false;
	n = strlen(buf);
	return !fm_join(buf + n, size - n, start.who.name, ".policy", "") &&
	       fm_exists(buf);
}

static bool policy_find_file(char *buf, size_t size)
{
	if (start.policy)
		return *start.policy &&
		       !fm_join(buf, size, start.policy, "", "");
	if (!*start.who.name || strchr(start.who.name, '/'))
		return false;
	if (start.config_home && *start.config_home) {
		if (candidate(buf, size, start.config_home, ""))
			return true;
	} else if (candidate(buf, size, start.home, "/.config")) {
		return true;
	}
	return candidate(buf, size, "/etc", "");
}

static void policy_take_file(struct fm_set *set)
{
	char path[4096], *text;
	int r;

	if (!policy_find_file(path, sizeof(path)))
		return;
	r = fm_read_text(&set->arena, path, &text);
	if (r) {
		if (!fm_heard_before(NULL))
			fm_log(FM_LOG_WARN, "cannot read policy file %s (errno "
			       "%d): %s; using defaults", path, -r,
			       fm_error_text(-r));
		return;
	}
	set->process.source = fm_arena_text(&set->arena, path, strlen(path));
	know_exe();
	fm_parse_text(set, path, text, &start.who, NULL);
}

/* ---- the environment --------------------------------------------------- */

/* Before the file is read, for what is to be said of it, and behind it, for
 * the environment counts more: one complaint is enough. */
static void take_log_level(struct fm_set *set, bool again)
{
	const struct fm_option *o = &fm_options[0];
	const struct fm_origin from = { .file = o->env,
					.quiet = again || !loading };

	if (start.value[0])
		fm_option_set(o, set, &set->defaults, start.value[0], &from);
	atomic_store(&fm_log_level, set->process.log_level);
}

/* Options of a path override every section as well; what is wrong is said
 * once. */
static void take_value(struct fm_set *set, const struct fm_option *o,
		       const char *value, struct fm_origin from)
{
	fm_option_set(o, set, &set->defaults, value, &from);
	from.quiet = true;
	for (struct fm_section *s = set->sections; s; s = s->next)
		if (o->scope == OPT_PATH)
			fm_option_set(o, set, &s->policy, value, &from);
}

static void take_env(struct fm_set *set)
{
	for (unsigned i = 1; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];
		const struct fm_origin from = { .file = o->env,
						.quiet = !loading };

		if (start.value[i])
			take_value(set, o, start.value[i], from);
	}
}

/* ---- where states are kept ----------------------------------------------- */

/* Root's are the machine's: HOME may be anybody's, after su. */
static const char *state_dir(char *buf, size_t size)
{
	const char *home = start.home, *below = "/.local/state";

	if (!fm_sys0(SYS_geteuid))
		return "/var/lib/fastmap";
	if (start.state_home && *start.state_home) {
		home = start.state_home;
		below = "";
	}
	if (!home || *home != '/' || fm_join(buf, size, home, below, "/fastmap"))
		return NULL;
	return buf;
}

static void find_state_dir(struct fm_set *set)
{
	struct fm_settings *s = &set->process;
	char buf[4096];
	const char *dir = s->warm_start;

	if (dir && !strcmp(dir, "auto"))
		dir = state_dir(buf, sizeof(buf));
	s->warm_dir = dir ? fm_arena_text(&set->arena, dir, strlen(dir)) : NULL;
}

/* ---- what was changed since -------------------------------------------- */

static const char *override[FM_POLICY_VALUES]; /* as fm_options[] */

static void take_overrides(struct fm_set *set)
{
	const struct fm_origin from = { .file = "set", .quiet = true };

	for (unsigned i = 0; i < fm_option_count; i++)
		if (override[i])
			take_value(set, &fm_options[i], override[i], from);
	atomic_store(&fm_log_level, set->process.log_level);
}

int fm_policy_keep(const struct fm_option *o, const char *value)
{
	char *copy = fm_arena_text(&start.arena, value, strlen(value));

	if (!copy)
		return -ENOMEM;
	override[o - fm_options] = copy;
	fm_policy_reload();
	return 0;
}

/* ---- the whole --------------------------------------------------------- */

/* How many had to be set right, for `where`: 0 or 1. */
static int order_watermarks(struct fm_policy *p, const char *where)
{
	if (p->wb_low < p->wb_high)
		return 0;
	p->wb_low = p->wb_high / 2;
	if (!fm_heard_before(NULL))
		fm_log(FM_LOG_WARN, "%s: wb-low is not below wb-high, using %u",
		       where, p->wb_low);
	return 1;
}

/* Can only be told where both are bytes, or both percentages. */
static bool is_above(const struct fm_cache_part *a,
		     const struct fm_cache_part *b)
{
	return a->percent && b->percent ? a->percent > b->percent :
	       a->percent || b->percent ? false : a->bytes > b->bytes;
}

/* As order_watermarks. */
static int order_parts(struct fm_policy *p, const char *where)
{
	if (!is_above(&p->cache_floor, &p->cache_share))
		return 0;
	p->cache_floor = p->cache_share;
	if (!fm_heard_before(NULL))
		fm_log(FM_LOG_WARN,
		       "%s: cache-floor is above cache-share, using "
		       "cache-share for both", where);
	return 1;
}

/* Only the engine has these bytes, however few they are. */
static void order_source(struct fm_set *set, struct fm_policy *p)
{
	if (!p->source)
		return;
	set->sources = true;
	p->engage = true;
	p->serve = FM_SERVE_ENGINE;
	p->warm = FM_WARM_ENGINE;
	p->min_size = 0;
}

/* What does not fit together is set right. */
static int order_all(struct fm_set *set)
{
	int n = order_watermarks(&set->defaults, "policy") +
		order_parts(&set->defaults, "policy");

	order_source(set, &set->defaults);
	for (struct fm_section *s = set->sections; s; s = s->next)
		order_source(set, &s->policy);
	for (struct fm_section *s = set->sections; s; s = s->next)
		n += order_watermarks(&s->policy, s->pattern) +
		     order_parts(&s->policy, s->pattern);
	return n;
}

static bool skipped(const struct fm_set *set)
{
	const char *exe;

	if (!set->cmds && !set->skip_cmds)
		return false;
	know_exe();
	exe = fm_base_name(start.who.exe);
	if (fm_texts_match(set->skip_cmds, start.who.name, fm_glob) ||
	    fm_texts_match(set->skip_cmds, exe, fm_glob))
		return true;
	return set->cmds &&
	       !fm_texts_match(set->cmds, start.who.name, fm_glob) &&
	       !fm_texts_match(set->cmds, exe, fm_glob);
}

static uint64_t least_size(const struct fm_set *set)
{
	uint64_t least = set->prefixes ? set->defaults.min_size : UINT64_MAX;

	for (const struct fm_section *s = set->sections; s; s = s->next)
		if (s->policy.min_size < least)
			least = s->policy.min_size;
	return least;
}

static struct fm_set *build(void)
{
	struct fm_arena arena = early_arena(1);
	struct fm_set *set = fm_arena_get(&arena, sizeof(*set));

	if (!set)
		return NULL;
	set->arena = arena;
	fm_options_default(set);
	take_log_level(set, false);
	policy_take_file(set);
	take_log_level(set, true);
	take_env(set);
	take_overrides(set);
	order_all(set);
	set->least_size = least_size(set);
	find_state_dir(set);
	if (skipped(set))
		set->process.mode = FM_MODE_OFF;
	return set;
}

void fm_policy_reload(void)
{
	const struct fm_set *set = build();

	if (set)
		atomic_store_explicit(&current, set, memory_order_release);
}

/* Of the process, and for its life: a reload leaves them. */
static void take_tunables(char **envp)
{
	const char *text = policy_env_get(envp, "FASTMAP_TUNE");

	if (text)
		fm_tunables_set(text);
}

/* Of an environment that may be long and is looked through for each option. */
static bool is_for_us(const char *entry)
{
	static const char *const of_others[] = { "LD_PRELOAD=", "HOME=",
						 "XDG_" };

	if (!strncmp(entry, "FASTMAP_", 8))
		return true;
	for (unsigned i = 0; i < sizeof(of_others) / sizeof(*of_others); i++)
		if (!strncmp(entry, of_others[i], strlen(of_others[i])))
			return true;
	return false;
}

static char **what_is_for_us(char **envp)
{
	size_t n = 1;
	char **mine;

	for (char **e = envp; e && *e; e++)
		n += is_for_us(*e);
	mine = fm_arena_get(&start.arena, n * sizeof(*mine));
	for (n = 0; mine && envp && *envp; envp++)
		if (is_for_us(*envp))
			mine[n++] = *envp;
	return mine;
}

void fm_policy_load_for(const char *argv0, const char *exe, char **envp)
{
	if (!start.arena.at)
		start.arena = early_arena(0);
	envp = what_is_for_us(envp);
	fm_log_start(envp ? fm_heard_run(envp) : 0);
	if (!envp || remember_start(argv0, exe, envp)) {
		fm_log(FM_LOG_ERROR, "no memory for settings, staying off");
		return;
	}
	loading = true;
	fm_complain_start(envp, start.policy);
	fm_policy_reload();
	take_tunables(envp);
	fm_remark_unknown(envp);
	fm_complain_start(NULL, false);
	loading = false;
}

void fm_policy_load(const char *argv0, char **envp)
{
	fm_policy_load_for(argv0, NULL, envp);
}

const char *fm_policy_runtime_dir(void)
{
	return start.runtime_dir;
}

static bool asks;

void fm_policy_asks(void)
{
	asks = true;
}

static bool may_ask(const struct fm_set *set)
{
	return asks || set->process.api;
}

bool fm_policy_any(void)
{
	const struct fm_set *set = set_now();

	return set->prefixes || set->sections || may_ask(set);
}

bool fm_policy_sources(void)
{
	return set_now()->sources;
}

static bool policy_may_serve(const struct fm_policy *p)
{
	return p->engage &&
	       (p->serve == FM_SERVE_AUTO || p->serve == FM_SERVE_ENGINE);
}

bool fm_policy_engine(void)
{
	const struct fm_set *set = set_now();
	bool may = (set->prefixes || may_ask(set)) &&
		   policy_may_serve(&set->defaults);

	for (const struct fm_section *s = set->sections; s && !may; s = s->next)
		may = policy_may_serve(&s->policy);
	return may && set->process.mode == FM_MODE_ON;
}

uint64_t fm_policy_least_size(void)
{
	return set_now()->least_size;
}

const struct fm_policy *fm_policy_default(void)
{
	return &set_now()->defaults;
}

static bool denied(const struct fm_set *set, const char *path)
{
	return fm_texts_match(set->deny, path, fm_path_match) &&
	       !fm_texts_match(set->allow, path, fm_path_match);
}

const struct fm_set *fm_set_now(void)
{
	return set_now();
}

static const struct fm_policy *covering(const struct fm_set *set,
					const char *path)
{
	for (const struct fm_section *s = set->sections; s; s = s->next)
		if (fm_path_match(s->pattern, path))
			return &s->policy;
	if (fm_texts_match(set->prefixes, path, fm_path_below))
		return &set->defaults;
	return NULL;
}

const struct fm_policy *fm_policy_for(const char *path)
{
	const struct fm_set *set = set_now();

	if (path[0] != '/' || denied(set, path))
		return NULL;
	return covering(set, path);
}

const struct fm_policy *fm_policy_for_asked(const char *path)
{
	const struct fm_set *set = set_now();
	const struct fm_policy *p = covering(set, path);

	if (denied(set, path))
		return NULL;
	return p ? p : &set->defaults;
}

bool fm_policy_denied(const char *path)
{
	const struct fm_set *set = set_now();

	return path[0] == '/' && denied(set, path) && covering(set, path);
}

int fm_policy_check(const char *file)
{
	struct fm_arena arena = { NULL, 0, NULL };
	struct fm_set *set = fm_arena_get(&arena, sizeof(*set));
	const struct fm_who who = { "", "" };
	int problems = 0, r;
	char *text;

	if (!set)
		return 1;
	set->arena = arena;
	fm_options_default(set);
	r = fm_read_text(&set->arena, file, &text);
	if (r) {
		fm_log(FM_LOG_ERROR, "%s: cannot read: %s", file,
		       fm_error_text(-r));
		return 1;
	}
	fm_parse_text(set, file, text, &who, &problems);
	return problems + order_all(set);
}
