/* SPDX-License-Identifier: MIT */
/* options.c - the table of all options, and how one is set from text. */
#include "set.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "glob.h"

#define AUTO_SHARE "50%" /* where cache = auto begins */
#define PROC(m) OPT_PROCESS, .offset = offsetof(struct fm_settings, m)
#define PATH(m) OPT_PATH, .offset = offsetof(struct fm_policy, m)
#define LIST(m) OPT_LIST, .offset = offsetof(struct fm_set, m)
#define KIB 1024ull
#define LEAST_CACHE (16 * KIB)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)

static const char evictions[] =
#define FM_EVICTION(value, policy) "|" #value
#include "evictions.def"
;
static const char sources[] = "files:INDEX"
#define FM_SOURCE(prefix, where, kind) "|" prefix where
#define FM_SOURCE_UNSHOWN(prefix, kind)
#include "sources.def"
;

const struct fm_option fm_options[] = {
	/* FASTMAP_LOG comes first: it decides what is said of the rest. */
	{ "log", "FASTMAP_LOG", .scope = PROC(log_level), .type = T_LEVEL,
	  .standard = "1", .max = 3, .live = true },
	{ "mode", "FASTMAP_MODE", .scope = PROC(mode), .type = T_CHOICE,
	  .standard = "on", .choices = "on|observe|off" },
	{ "faults", "FASTMAP_FAULTS", .scope = PROC(faults), .type = T_CHOICE,
	  .standard = "auto", .choices = "auto|signal|thread" },
	{ "cache", "FASTMAP_CACHE", .scope = PROC(cache), .type = T_MEMORY,
	  .standard = "auto", .min = LEAST_CACHE, .max = 64 * TIB,
	  .live = true },
	{ "lazy", "FASTMAP_LAZY", .scope = PROC(lazy), .type = T_SIZE_AUTO,
	  .standard = "auto", .max = 64 * TIB, .live = true },
	{ "strict", "FASTMAP_STRICT", .scope = PROC(strict), .type = T_BOOL,
	  .standard = "no" },
	{ "api", "FASTMAP_API", .scope = PROC(api), .type = T_BOOL,
	  .standard = "no" },
	{ "promote", "FASTMAP_PROMOTE", .scope = PROC(promote_ms),
	  .type = T_U32, .standard = "5000", .max = 3600000, .live = true },
	{ "guardian", "FASTMAP_GUARDIAN", .scope = PROC(guardian),
	  .type = T_BOOL, .standard = "yes" },
	{ "summary", "FASTMAP_SUMMARY", .scope = PROC(summary),
	  .type = T_CHOICE, .standard = "auto", .choices = "auto|yes|no" },
	{ "stats", "FASTMAP_STATS", .scope = PROC(stats), .type = T_STATS,
	  .standard = "" },
	{ "metrics", "FASTMAP_METRICS", .scope = PROC(metrics), .type = T_FILE,
	  .standard = "" },
	{ "trace", "FASTMAP_TRACE", .scope = PROC(trace), .type = T_FILE,
	  .standard = "" },
	{ "trace-serve", "FASTMAP_TRACE_SERVE", .scope = PROC(trace_serve),
	  .type = T_FILE, .standard = "" },
	{ "socket", "FASTMAP_SOCKET", .scope = PROC(socket), .type = T_SOCKET,
	  .standard = "auto" },
	{ "heap", "FASTMAP_HEAP", .scope = PROC(heap), .type = T_FILE,
	  .standard = "" },
	{ "heap-size", "FASTMAP_HEAP_SIZE", .scope = PROC(heap_size),
	  .type = T_SIZE, .standard = "64G", .min = MIB, .max = 64 * TIB },
	{ "heap-near", "FASTMAP_HEAP_NEAR", .scope = PROC(heap_near),
	  .type = T_SIZE, .standard = "64M", .max = 64 * TIB },
	{ "heap-fork", "FASTMAP_HEAP_FORK", .scope = PROC(heap_fork),
	  .type = T_SIZE, .standard = "1G", .max = 64 * TIB },
	{ "warm-start", "FASTMAP_WARM_START", .scope = PROC(warm_start),
	  .type = T_STATES, .standard = "auto" },
	{ "rings", "FASTMAP_RINGS", .scope = PROC(ring_limit), .type = T_U32,
	  .standard = "64", .min = 1, .max = 64 },
	{ "uring", "FASTMAP_URING", .scope = PROC(uring), .type = T_BOOL,
	  .standard = "yes" },
	{ "null-store", "FASTMAP_NULL_STORE", .scope = PROC(null_store),
	  .type = T_U32, .standard = "0", .max = 1 },

	{ "engage", NULL, .scope = PATH(engage), .type = T_BOOL,
	  .standard = "yes" },
	{ "min-size", "FASTMAP_MIN_SIZE", .scope = PATH(min_size),
	  .type = T_SIZE, .standard = "1M", .max = UINT64_MAX },
	{ "block", "FASTMAP_BLOCK", .scope = PATH(block_size), .type = T_POW2,
	  .standard = "0", .min = 4 * KIB, .max = 8 * MIB },
	{ "map-ahead", "FASTMAP_MAP_AHEAD", .scope = PATH(map_ahead),
	  .type = T_SIZE32, .standard = "32M", .max = 1024 * MIB,
	  .live = true },
	{ "io", "FASTMAP_IO", .scope = PATH(io), .type = T_CHOICE,
	  .standard = "auto", .choices = "auto|direct|buffered" },
	{ "holes", "FASTMAP_HOLES", .scope = PATH(holes), .type = T_CHOICE,
	  .standard = "allocate", .choices = "allocate|lazy" },
	{ "warm", "FASTMAP_WARM", .scope = PATH(warm), .type = T_CHOICE,
	  .standard = "auto", .choices = "auto|kernel|engine" },
	{ "serve", "FASTMAP_SERVE", .scope = PATH(serve), .type = T_CHOICE,
	  .standard = "auto", .choices = "auto|engine|advised|kernel" },
	{ "eviction", "FASTMAP_EVICTION", .scope = PATH(eviction),
	  .type = T_CHOICE, .standard = "default", .choices = evictions + 1 },
	{ "cache-share", NULL, .scope = PATH(cache_share), .type = T_PART,
	  .standard = "100%", .max = 64 * TIB },
	{ "cache-floor", NULL, .scope = PATH(cache_floor), .type = T_PART,
	  .standard = "0", .max = 64 * TIB },
	{ "priority", NULL, .scope = PATH(priority), .type = T_CHOICE,
	  .standard = "normal", .choices = "low|normal|high" },
	{ "pin", NULL, .scope = PATH(pin), .type = T_PIN, .standard = "0",
	  .max = 64 * TIB },
	{ "drop-behind", "FASTMAP_DROP_BEHIND", .scope = PATH(drop_behind),
	  .type = T_BOOL, .standard = "no" },
	{ "source", NULL, .scope = PATH(source), .type = T_SOURCE,
	  .standard = "", .choices = sources },
	{ "wb-high", "FASTMAP_WB_HIGH", .scope = PATH(wb_high), .type = T_U32,
	  .standard = "20", .min = 1, .max = 90, .whole = true, .live = true },
	{ "wb-low", "FASTMAP_WB_LOW", .scope = PATH(wb_low), .type = T_U32,
	  .standard = "10", .max = 90, .whole = true, .live = true },
	{ "wb-interval", "FASTMAP_WB_INTERVAL", .scope = PATH(wb_interval_ms),
	  .type = T_U32, .standard = "5000", .max = 3600000, .live = true },

	{ "paths", "FASTMAP_PATHS", .scope = LIST(prefixes), .type = T_PATHS,
	  .standard = "" },
	{ "deny", "FASTMAP_DENY", .scope = LIST(deny), .type = T_GLOBS,
	  .standard =
		  "*-shm:lock.mdb:*-lock:*-lck:*.lck:*.lock:/dev/shm:/proc:/sys" },
	{ "allow", "FASTMAP_ALLOW", .scope = LIST(allow), .type = T_GLOBS,
	  .standard = "" },
	{ "cmds", "FASTMAP_CMDS", .scope = LIST(cmds), .type = T_GLOBS,
	  .standard = "" },
	{ "skip-cmds", "FASTMAP_SKIP_CMDS", .scope = LIST(skip_cmds),
	  .type = T_GLOBS, .standard = "" },
};
const unsigned fm_option_count = sizeof(fm_options) / sizeof(fm_options[0]);
_Static_assert(sizeof(fm_options) / sizeof(fm_options[0]) <= FM_POLICY_VALUES,
	       "a value of each has room");

const struct fm_option *fm_option_find(const char *name)
{
	for (unsigned i = 0; i < fm_option_count; i++)
		if (!strcmp(fm_options[i].name, name))
			return &fm_options[i];
	return NULL;
}

static int parse_bool(const char *s, bool *ret)
{
	static const char *const word[] = { "no",  "0", "off", "false",
					    "yes", "1", "on",  "true" };

	for (int i = 0; i < 8; i++)
		if (!strcmp(s, word[i])) {
			*ret = i >= 4;
			return 0;
		}
	return -EINVAL;
}

/* Position of s in "a|b|c". */
static int parse_choice(const char *choices, const char *s, uint32_t *ret)
{
	size_t n = strlen(s);

	for (uint32_t i = 0; n; i++) {
		size_t len = strcspn(choices, "|");

		if (len == n && !memcmp(choices, s, n)) {
			*ret = i;
			return 0;
		}
		if (!choices[len])
			break;
		choices += len + 1;
	}
	return -EINVAL;
}

static int parse_number(const struct fm_option *o, const char *s,
			uint64_t *ret)
{
	uint64_t v;
	int r;

	if (o->type == T_SIZE_AUTO && !strcmp(s, "auto")) {
		*ret = FM_SIZE_AUTO;
		return 0;
	}
	if (o->type == T_PIN && !strcmp(s, "minute")) {
		*ret = FM_PIN_MINUTE;
		return 0;
	}
	/* Only the cache's size knows what a percentage is of. */
	if (strchr(s, '%'))
		return -EINVAL;
	r = fm_parse_size(s, 0, &v);
	if (r)
		return r;
	if (o->type == T_POW2 && (v & (v - 1)))
		return -EINVAL;
	if (!(o->type == T_POW2 && v == 0) && (v < o->min || v > o->max))
		return -ERANGE;
	*ret = v;
	return 0;
}

/* A size, a percentage of the memory that may be used, or "auto". 16 KiB at
 * least. */
static int parse_cache(const char *s, struct fm_cache_size *ret)
{
	struct fm_cache_size c = { .automatic = !strcmp(s, "auto") };
	uint64_t percent = 0;
	int r;

	if (c.automatic)
		s = AUTO_SHARE;
	if (strchr(s, '%'))
		r = fm_parse_size(s, 100, &percent);
	else
		r = fm_parse_size(s, 0, &c.bytes);
	if (r)
		return r;
	if (!percent && (c.bytes < LEAST_CACHE || c.bytes > 64 * TIB))
		return -ERANGE;
	c.percent = (uint32_t)percent;
	*ret = c;
	return 0;
}

/* Asked when there is a cache: most programs never have one, and to find out
 * takes a dozen system calls. */
uint64_t fm_cache_bytes(const struct fm_cache_size *c)
{
	uint64_t bytes = c->bytes;

	if (c->percent)
		bytes = fm_memory_limit() / 100 * c->percent;
	return bytes < LEAST_CACHE ? LEAST_CACHE : bytes;
}

/* "64M", "25%". */
static int parse_part(const char *s, struct fm_cache_part *ret)
{
	uint64_t v;
	int r = fm_parse_size(s, 100, &v);

	if (r)
		return r;
	if (strchr(s, '%'))
		*ret = (struct fm_cache_part){ 0, (uint32_t)v };
	else if (v > 64 * TIB)
		return -ERANGE;
	else
		*ret = (struct fm_cache_part){ v, 0 };
	return 0;
}

static int set_number(const struct fm_option *o, void *at, const char *value)
{
	uint64_t v;
	int r = parse_number(o, value, &v);

	if (r)
		return r;
	switch (o->type) {
	case T_SIZE:
	case T_SIZE_AUTO:
	case T_PIN:
		*(uint64_t *)at = v;
		break;
	case T_LEVEL:
		*(int *)at = (int)v;
		break;
	default:
		*(uint32_t *)at = (uint32_t)v;
		break;
	}
	return 0;
}

/* A file by its full name: the program may go elsewhere, and the guardian
 * does. */
static const char *full_name(const char *value, char *buf, size_t size)
{
	char cwd[4096];
	long n = fm_sys2(SYS_getcwd, cwd, sizeof(cwd));

	if (*value == '/' || n <= 0 || *cwd != '/' ||
	    fm_join(buf, size, cwd, cwd[1] ? "/" : "", value))
		return value;
	return buf;
}

/* A word that names no file. */
static bool is_word(const struct fm_option *o, const char *value)
{
	return (o->type == T_STATS && !strcmp(value, "stderr")) ||
	       ((o->type == T_STATES || o->type == T_SOCKET) &&
		!strcmp(value, FM_SOCKET_AUTO));
}

static int set_text(const struct fm_option *o, const char **at,
		    struct fm_set *set, const char *value)
{
	char full[8192];
	const char *copy;

	if (o->type == T_STATS && (!strcmp(value, "1") || !strcmp(value, "-")))
		value = "stderr";
	if (o->type == T_STATES && (!strcmp(value, "off") ||
				    !strcmp(value, "no")))
		value = "";
	if (!*value || !strcmp(value, "0") ||
	    (o->type == T_SOCKET && !strcmp(value, "none"))) {
		*at = NULL;
		return 0;
	}
	if (!is_word(o, value))
		value = full_name(value, full, sizeof(full));
	copy = fm_arena_text(&set->arena, value, strlen(value));
	if (!copy)
		return -ENOMEM;
	*at = copy;
	return 0;
}

/* Whether there is such a source is found out when a file of it is used. */
static int set_source(const char **at, struct fm_set *set, const char *value)
{
	const char *const kinds[] = {
		"files:",
#define FM_SOURCE(prefix, where, kind) prefix,
#define FM_SOURCE_UNSHOWN(prefix, kind) prefix,
#include "sources.def"
	};
	const char *copy;

	*at = NULL;
	if (!*value)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(value, kinds[i], strlen(kinds[i]))) {
			copy = fm_arena_text(&set->arena, value, strlen(value));
			*at = copy;
			return copy ? 0 : -ENOMEM;
		}
	return -EINVAL;
}

/* It is taken all the same, it may come to be; but mostly it is a mistake. */
static void remark_missing(const struct fm_option *o, const char *path,
			   const struct fm_origin *from)
{
	if (fm_exists(path))
		return;
	if (strpbrk(path, "*?") || *path == '~')
		fm_complain(from, o->name, path,
			    "taken as it stands, and there is no such path; "
			    "patterns are for [path GLOB] in a policy file");
	else
		fm_remark(from, o->name, path, "does not exist (yet)");
}

/* For deny and allow; a program's name may well be relative. */
static bool matches_paths(const struct fm_option *o)
{
	return o->offset == offsetof(struct fm_set, deny) ||
	       o->offset == offsetof(struct fm_set, allow);
}

static void remark_relative(const struct fm_option *o, const char *text,
			    const struct fm_origin *from)
{
	if (o->type == T_PATHS && from->line && *text != '/')
		fm_complain(from, o->name, text, "relative: to where each "
			    "program is started; begin with /");
	else if (o->type == T_GLOBS && matches_paths(o) &&
		 fm_never_matches(text))
		fm_complain(from, o->name, text,
			    "matches no path: they begin with /");
}

static int keep_item(struct fm_texts **at, struct fm_set *set, const char *s)
{
	struct fm_texts *l = fm_arena_get(&set->arena, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->text = fm_arena_text(&set->arena, s, strlen(s));
	if (!l->text)
		return -ENOMEM;
	l->next = *at;
	*at = l;
	return 0;
}

static void add_item(const struct fm_option *o, struct fm_texts **at,
		     struct fm_set *set, const char *s, size_t n,
		     const struct fm_origin *from)
{
	char real[4096];
	const bool cut = n >= sizeof(real);
	const char *plain = fm_arena_text(&set->arena, s,
					  cut ? sizeof(real) - 1 : n);
	int r = cut ? -ENAMETOOLONG : 0;

	if (!plain)
		return;
	if (!r)
		remark_relative(o, plain, from);
	if (!r && o->type == T_PATHS) {
		remark_missing(o, plain, from);
		r = fm_resolve(plain, real, sizeof(real));
	}
	if (!r)
		r = keep_item(at, set, o->type == T_PATHS ? real : plain);
	if (r) /* -ENOENT: not even the root directory's name is to be had */
		fm_complain(from, o->name, plain, r == -ENOENT ?
			    "cannot be resolved without /proc: mount it" :
			    fm_error_text(-r));
}

/* Takes what can be taken. */
static void set_list(const struct fm_option *o, struct fm_texts **at,
		     struct fm_set *set, const char *value,
		     const struct fm_origin *from)
{
	const char *stop = o->type == T_PATHS ? ":" : ":,";

	while (*value) {
		size_t n = strcspn(value, stop), end = n;
		size_t lead = strspn(value, " ");

		while (end > lead && value[end - 1] == ' ')
			end--;
		if (end > lead)
			add_item(o, at, set, value + lead, end - lead, from);
		value += n + (value[n] != 0);
	}
}

static int set_any(const struct fm_option *o, void *at, struct fm_set *set,
		   const char *value)
{
	switch (o->type) {
	case T_BOOL:
		return parse_bool(value, at);
	case T_MEMORY:
		return parse_cache(value, at);
	case T_PART:
		return parse_part(value, at);
	case T_CHOICE:
		return parse_choice(o->choices, value, at);
	case T_FILE:
	case T_SOCKET:
	case T_STATS:
	case T_STATES:
		return set_text(o, at, set, value);
	case T_SOURCE:
		return set_source(at, set, value);
	default:
		return set_number(o, at, value);
	}
}

static const char *fault_of(const struct fm_option *o, int r)
{
	if (r == -ERANGE)
		return "out of range:";
	if (o->choices)
		return "not one of the choices:";
	return r == -EINVAL ? "bad value" : "no memory for";
}

int fm_option_set(const struct fm_option *o, struct fm_set *set,
		   struct fm_policy *policy, const char *value,
		   const struct fm_origin *from)
{
	void *base = o->scope == OPT_PROCESS ? (void *)&set->process :
		     o->scope == OPT_PATH    ? (void *)policy :
					       (void *)set;
	void *at = (char *)base + o->offset;
	char what[128], used[192], instead[64], choices[FM_RANGE] = "";
	int r = 0;

	if (o->scope == OPT_LIST)
		set_list(o, at, set, value, from);
	else
		r = set_any(o, at, set, value);
	if (!r && policy == &set->defaults)
		set->said |= 1ul << (o - fm_options);
	if (!r)
		return 0;
	/* The strings are all ours and short; a join that does not fit would
	 * only shorten the message. */
	fm_join(what, sizeof(what), o->name, ": ", fault_of(o, r));
	if (r == -ERANGE || r == -EINVAL)
		fm_option_range(o, choices, sizeof(choices));
	if (from->fatal)
		fm_join(instead, sizeof(instead), "nothing is run", "", "");
	else
		fm_join(instead, sizeof(instead), from->line ? "line " : "",
			"ignored, default ", o->standard);
	fm_join(used, sizeof(used), choices, *choices ? "; " : "", instead);
	fm_complain(from, what, value, used);
	return r;
}

void fm_options_default(struct fm_set *set)
{
	const struct fm_origin none = { .file = "built-in" };

	for (unsigned i = 0; i < fm_option_count; i++)
		fm_option_set(&fm_options[i], set, &set->defaults,
			      fm_options[i].standard, &none);
	set->said = 0;
}

bool fm_option_said(const struct fm_set *set, const char *name)
{
	return set->said >> (fm_option_find(name) - fm_options) & 1;
}

bool fm_texts_match(const struct fm_texts *l, const char *text,
		    bool (*match)(const char *pattern, const char *text))
{
	for (; l; l = l->next)
		if (match(l->text, text))
			return true;
	return false;
}
