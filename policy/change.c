/* SPDX-License-Identifier: MIT */
/* change.c - settings of a process that runs: judged, changed, shown. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "set.h"

_Static_assert(sizeof(((struct fm_policy *)0)->map_ahead) == sizeof(uint32_t) &&
	      sizeof(((struct fm_policy *)0)->wb_interval_ms) ==
		      sizeof(uint32_t), "what is live of a path is a uint32_t");

/* ---- text ---------------------------------------------------------------- */

static void add_choice(char *buf, size_t size, const char *choices, uint32_t n)
{
	char one[2] = "";

	for (; *choices; choices++)
		if (*choices == '|')
			n--;
		else if (!n) {
			one[0] = *choices;
			fm_text_add(buf, size, one);
		}
}

static void add_cache(char *buf, size_t size, const struct fm_cache_size *c)
{
	if (c->automatic)
		fm_text_add(buf, size, "auto");
	else if (c->percent)
		fm_text_add_number(buf, size, c->percent, false);
	else
		fm_text_add_number(buf, size, c->bytes, true);
	if (!c->automatic && c->percent)
		fm_text_add(buf, size, "%");
}

static void change_add_part(char *buf, size_t size,
			    const struct fm_cache_part *p)
{
	fm_text_add_number(buf, size, p->percent ? p->percent : p->bytes,
			   !p->percent);
	fm_text_add(buf, size, p->percent ? "%" : "");
}

/* A size, or the word that stands for the largest. */
static void add_size(char *buf, size_t size, uint64_t v, const char *largest)
{
	if (v == UINT64_MAX && *largest)
		fm_text_add(buf, size, largest);
	else
		fm_text_add_number(buf, size, v, true);
}

static void change_add_text(char *buf, size_t size, const char *s)
{
	fm_text_add(buf, size, s ? s : "none");
}

static void add_value(char *buf, size_t size, const struct fm_option *o,
		      const void *at)
{
	switch (o->type) {
	case T_BOOL:
		fm_text_add(buf, size, *(const bool *)at ? "yes" : "no");
		break;
	case T_CHOICE:
		add_choice(buf, size, o->choices, *(const uint32_t *)at);
		break;
	case T_MEMORY:
		add_cache(buf, size, at);
		break;
	case T_PART:
		change_add_part(buf, size, at);
		break;
	case T_SIZE:
	case T_SIZE_AUTO:
	case T_PIN:
		add_size(buf, size, *(const uint64_t *)at,
			 o->type == T_PIN ? "minute" :
			 o->type == T_SIZE_AUTO ? "auto" : "");
		break;
	case T_LEVEL:
		fm_text_add_number(buf, size, (uint64_t)*(const int *)at,
				   false);
		break;
	case T_FILE:
	case T_SOCKET:
	case T_STATS:
	case T_STATES:
	case T_SOURCE:
		change_add_text(buf, size, *(const char *const *)at);
		break;
	default:
		fm_text_add_number(buf, size, *(const uint32_t *)at,
			   o->type != T_U32);
		break;
	}
}

static const void *change_place_of(const struct fm_option *o,
				   const struct fm_set *set)
{
	const void *base = o->scope == OPT_PROCESS ?
				   (const void *)&set->process :
				   (const void *)&set->defaults;

	return (const char *)base + o->offset;
}

bool fm_policy_value(const char *name, char *buf, size_t size)
{
	const struct fm_option *o = fm_option_find(name);

	*buf = 0;
	if (!o || o->scope == OPT_LIST)
		return false;
	add_value(buf, size, o, change_place_of(o, fm_set_now()));
	return true;
}

void fm_policy_values(struct fm_policy_values *ret)
{
	ret->n = 0;
	for (unsigned i = 0; i < fm_option_count && ret->n < FM_POLICY_VALUES;
	     i++) {
		ret->name[ret->n] = fm_options[i].name;
		ret->n += fm_policy_value(fm_options[i].name,
					  ret->value[ret->n],
					  sizeof(ret->value[0]));
	}
}

/* ---- judged, changed ----------------------------------------------------- */

static void say_known(char *why, size_t size)
{
	fm_text_add(why, size, "; these may:");
	for (unsigned i = 0; i < fm_option_count; i++)
		if (fm_options[i].live) {
			fm_text_add(why, size, " ");
			fm_text_add(why, size, fm_options[i].name);
		}
}

static int change_say(char *why, size_t size, const char *name,
		      const char *what, const char *value, int err)
{
	*why = 0;
	fm_text_add(why, size, name);
	fm_text_add(why, size, what);
	fm_text_add(why, size, value);
	return err;
}

int fm_policy_judge(const char *name, const char *value, char *why,
		    size_t size)
{
	static struct fm_set scratch;
	const struct fm_origin from = { .file = "set", .quiet = true };
	const struct fm_option *o = fm_option_find(name);
	char range[FM_RANGE];
	int err;

	if (!o || !o->live) {
		change_say(why, size, name,
			   !o ? ": no such option"
			   : o->scope == OPT_PATH
				   ? " changes by the policy file and a reload"
				   : " cannot change while the process runs",
			   "", 0);
		say_known(why, size);
		return o ? -EPERM : -ENOENT;
	}
	err = fm_option_set(o, &scratch, &scratch.defaults, value, &from);
	if (!err)
		return 0;
	change_say(why, size, name,
		   err == -ERANGE ? ": out of range: " : ": bad value: ", value,
		   err);
	fm_option_range(o, range, sizeof(range));
	fm_text_add(why, size, ", not ");
	fm_text_add(why, size, range);
	return err;
}

/* Both marks as they would be. */
static bool marks_agree(const struct fm_option *o, const char *value)
{
	struct fm_set with = *fm_set_now();
	const struct fm_origin from = { .file = "set", .quiet = true };

	fm_option_set(o, &with, &with.defaults, value, &from);
	return with.defaults.wb_low < with.defaults.wb_high;
}

int fm_policy_override(const char *name, const char *value)
{
	const struct fm_option *o = fm_option_find(name);

	if (!o || !o->live)
		return -ENOENT;
	if (!strncmp(name, "wb-", 3) && !marks_agree(o, value))
		return -EDOM;
	return fm_policy_keep(o, value);
}

/* ---- files that are in use ----------------------------------------------- */

/* Policies that have been changed so: kept, for readers hold no lock. */
struct renewed {
	struct fm_policy policy;
	struct renewed *next;
};

static const struct fm_policy *change_keep(const struct fm_policy *p)
{
	static struct fm_arena arena;
	static struct renewed *all;
	struct renewed *r = all;

	while (r && memcmp(&r->policy, p, sizeof(*p)))
		r = r->next;
	if (r)
		return &r->policy;
	r = fm_arena_get(&arena, sizeof(*r));
	if (!r)
		return NULL;
	r->policy = *p;
	r->next = all;
	all = r;
	return &r->policy;
}

const struct fm_policy *fm_policy_renew(const struct fm_policy *old,
					const char *path)
{
	const struct fm_policy *now = fm_policy_for(path);
	struct fm_policy want;

	now = now ? now : fm_policy_default();
	memcpy(&want, old, sizeof(want));
	want.map_ahead = now->map_ahead;
	want.wb_interval_ms = now->wb_interval_ms;
	if (!memcmp(&want, old, sizeof(want)))
		return old;
	now = change_keep(&want);
	return now ? now : old;
}

/* ---- the file, read again ------------------------------------------------ */

void fm_policy_hear_nothing(void)
{
	fm_complain_to(NULL, 0);
}

void fm_policy_reload_heard(char *ret_bad, size_t size)
{
	*ret_bad = 0;
	fm_complain_to(ret_bad, size);
	fm_policy_reload();
	fm_complain_to(NULL, 0);
}
