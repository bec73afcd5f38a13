/* SPDX-License-Identifier: MIT */
/*
 * summary.c - "served 2 of 3 files, 3030 faults, 63 MiB read, 88 % of the
 * faults from memory; app.idx left to the kernel: already in the page cache".
 *
 * For who looks at the program: `fastmap run` has started it, or its standard
 * error is a terminal. A child of fork says nothing, nor does a program that
 * another one under the library has started: a build runs hundreds. But where
 * `fastmap run` was given a script, what that starts says its line, as long as
 * it has the script's standard error.
 */
#include "summary.h"

#include <string.h>
#include <sys/ioctl.h>

#include "base/epoch.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "file/file.h"
#include "glob.h"
#include "heard.h"
#include "mmap/mmap.h"
#include "policy.h"
#include "stats_priv.h"

struct sums {
	struct fm_file_stats st;
	uint64_t served, left, chosen, advised;
	char path[256]; /* the first that the kernel has; "": none */
	enum fm_server_reason why;
	bool handed;
};

/* ---- who wants it ------------------------------------------------------ */

static bool summary_wanted(void)
{
	const int run = fm_log_run(), parent = (int)fm_sys0(SYS_getppid);

	if (fm_settings()->summary != FM_SUMMARY_AUTO)
		return fm_settings()->summary == FM_SUMMARY_YES;
	if (run == fm_sys_getpid())
		return true;
	if (run && run == parent)
		return fm_stderr_is_of(parent);
	return fm_stderr_is_terminal() && !fm_heard_by_parent("LD_PRELOAD");
}

/* ---- what there is to say ---------------------------------------------- */

static void summary_remember(struct sums *s, const char *path,
			     enum fm_server_reason why, bool handed)
{
	if (*s->path || why == FM_WHY_ENDS || why == FM_WHY_EXEC)
		return;
	fm_join(s->path, sizeof(s->path), path, "", "");
	s->why = why;
	s->handed = handed;
}

static void remember_handed(struct sums *s, const char *path,
			    const struct fm_file_stats *st)
{
	const enum fm_server_reason why = atomic_load(&st->demote_why);

	if (why)
		summary_remember(s, path, why, true);
}

static void summary_add_retired(const struct fm_retired *r, void *arg)
{
	remember_handed(arg, r->path, &r->st);
}

static void add_open_files(struct sums *s)
{
	struct fm_file *f;

	fm_for_each_file(f, id) {
		fm_stats_sum(&s->st, f->st);
		s->served += !fm_stats_was_retired(f->dev, f->ino, f->born);
		remember_handed(s, f->path, f->st);
	}
}

/* Left because the settings, or the lengths of its mappings, say so. */
static bool as_chosen(enum fm_server_reason why)
{
	return why == FM_WHY_SHORT || why == FM_WHY_EXECUTABLE ||
	       why == FM_WHY_DENIED || why == FM_WHY_NOT_ENGAGED;
}

static bool summary_is_served(const struct fm_unserved *l)
{
	struct fm_file *f;

	if (fm_stats_was_retired(l->of->dev, l->of->ino, 0))
		return true;
	fm_for_each_file(f, id)
		if (f->ino == l->of->ino && f->dev == l->of->dev)
			return true;
	return false;
}

static bool summary_is_advised(const struct fm_unserved *l)
{
	struct fm_served now;

	fm_served_read(&l->served, &now);
	return now.ms[FM_BY_ADVISED];
}

/* One that is served, too, counts as that. */
static void summary_add_left(const struct fm_unserved *l, void *arg)
{
	const enum fm_server_reason why = l->reason[0].why;
	struct sums *s = arg;

	if (summary_is_served(l))
		return;
	s->advised += summary_is_advised(l);
	if (as_chosen(why)) {
		s->chosen++;
		if (!s->left && !s->served)
			summary_remember(s, l->path, why, false);
		return;
	}
	if (!s->left++ && !s->served && s->chosen)
		*s->path = 0; /* this one says more */
	summary_remember(s, l->path, why, false);
}

static void summary_add_all(struct sums *s)
{
	FM_BLOCK_SIGNALS();
	FM_IN_EPOCH();
	s->served = fm_stats_retired(&s->st, summary_add_retired, s);
	add_open_files(s);
	fm_unserved_each(summary_add_left, s);
}

/* "; app.idx left to the kernel: already in the page cache" */
static void summary_put_kernels(const struct sums *s, char *ret, size_t size)
{
	char head[320];

	*ret = 0;
	if (!*s->path)
		return;
	fm_join(head, sizeof(head), "; ", fm_base_name(s->path),
		s->handed ? " handed to the kernel: " :
			    " left to the kernel: ");
	fm_join(ret, size, head, fm_server_reason_text(s->why), "");
}

static void say_none(const struct sums *s, const char *tail)
{
	const uint64_t all = s->left + s->chosen;
	const char *files = all == 1 ? "" : "s";

	if (s->advised)
		fm_log(FM_LOG_WARN, "served none of %lu file%s, advised the "
		       "kernel on %lu%s", all, files, s->advised, tail);
	else
		fm_log(FM_LOG_WARN, "served none of %lu file%s%s", all, files,
		       tail);
}

static void summary_say(const struct sums *s)
{
	const uint64_t read = atomic_load(&s->st.load_bytes);
	char tail[480];

	summary_put_kernels(s, tail, sizeof(tail));
	if (!s->served)
		say_none(s, tail);
	else
		fm_log(FM_LOG_WARN, "served %lu of %lu file%s, %lu faults, "
		       "%lu %s read, %lu %% of the faults from memory%s",
		       s->served, s->served + s->left,
		       s->served + s->left == 1 ? "" : "s",
		       fm_stats_faults(&s->st),
		       read < 1 << 20 ? read >> 10 : read >> 20,
		       read < 1 << 20 ? "KiB" : "MiB",
		       fm_stats_hits(&s->st) / 1000, tail);
}

void fm_summary(void)
{
	struct sums s;

	if (fm_settings()->mode != FM_MODE_ON || fm_life_is_child() ||
	    atomic_load(&fm_log_level) < FM_LOG_WARN ||
	    (!fm_stats_managed() && !fm_unserved_any()) || !fm_sys_may_ask())
		return;
	memset(&s, 0, sizeof(s));
	summary_add_all(&s);
	if ((s.served || s.left || s.chosen) && summary_wanted())
		summary_say(&s);
}
