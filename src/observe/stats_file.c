/* SPDX-License-Identifier: MIT */
/* stats_file.c - the file that is written at exit. */
#include "observe.h"
#include "stats.h"

#include <errno.h>
#include <string.h>

#include "base/life.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/thread.h"
#include "heard.h"
#include "mmap/mmap.h"
#include "policy.h"
#include "stats_priv.h"
#include "summary.h"

static int load_pid;
static _Atomic bool written; /* at the end of this process */

__attribute__((constructor)) static void stats_file_begin(void)
{
	load_pid = fm_sys_getpid();
}

static bool anything_managed(void)
{
	return fm_stats_managed() ||
	       (fm_settings()->mode == FM_MODE_OBSERVE && fm_unserved_any());
}

/* What the settings name, for this process. A forked child adds its number, so
 * that it spares its parent's file. -1: it does not fit. */
int fm_stats_path(const char *pattern, int pid, char *buf, size_t size)
{
	char digits[12];
	bool own;
	int err = fm_expand_pid(pattern, pid, buf, size, &own);

	if (err || own || pid == load_pid)
		return err;
	fm_number_text(digits, (unsigned)pid);
	return fm_join(buf + strlen(buf), size - strlen(buf), ".", digits, "");
}

/* `spare`: what is there is another's. */
static int stats_file_write(const char *path, const struct fm_json *doc,
			    bool spare)
{
	const int by = fm_sys_getpid();
	int err = fm_new_file_write(path, by, doc->text, doc->len, spare);

	if (err == -EMFILE && fm_thread_spare())
		err = fm_new_file_write(path, by, doc->text, doc->len, spare);
	return err;
}

/* What a program starts that has the same settings, and that mapped nothing
 * below the paths, is about to fail the same way. */
static bool is_first_to_say(void)
{
	return anything_managed() || fm_unserved_any() ||
	       fm_log_run() == fm_sys_getpid() ||
	       !fm_heard_by_parent("LD_PRELOAD");
}

static void stats_file_write_to(const char *where, const struct fm_json *doc)
{
	char path[4096];
	int err;

	if (!strcmp(where, "stderr")) {
		fm_log_text(doc->text, doc->len);
		return;
	}
	err = fm_stats_path(fm_settings()->stats, fm_sys_getpid(), path,
			    sizeof(path)) ? -ENAMETOOLONG :
		stats_file_write(path, doc, !anything_managed());
	if (err && is_first_to_say())
		fm_log(FM_LOG_WARN,
		       "cannot write statistics to %s (errno %d: %s)", path,
		       -err, fm_error_text(-err));
}

/* A forked child that managed nothing has nothing to add. Nor has, where each
 * process has a file of its own (%p), one that mapped nothing below the paths:
 * a script runs hundreds of these. */
static bool has_to_say(const char *where)
{
	char path[4096];
	bool own = false;

	if (anything_managed())
		return true;
	fm_expand_pid(where, fm_sys_getpid(), path, sizeof(path), &own);
	return fm_sys_getpid() == load_pid && (!own || fm_unserved_any());
}

/* A forked child adds its number to the name, so that it spares its parent's
 * file; a process that managed nothing does not overwrite a file that is there.
 */
static void write_own(void)
{
	const char *where = fm_settings()->stats;
	struct fm_json doc;

	if (!where || !has_to_say(where) ||
	    fm_stats_json(&doc, fm_sys_getpid(), false))
		return;
	stats_file_write_to(where, &doc);
	fm_json_free(&doc);
	atomic_store(&written, true);
}

void fm_stats_alone(void)
{
	fm_stats_unlock();
	fm_unserved_unlock();
	fm_served_unlock();
	fm_stats_json_reset();
}

/* In the guardian: the same for the dead program, unless it has; or for one
 * that lives and has executed something else. Whoever held a lock is dead. Its
 * standard error is not here. */
static void write_dead(int pid, bool executed)
{
	const char *where = fm_settings()->stats;
	struct fm_json doc;
	char path[4096];

	if (!where || !strcmp(where, "stderr") || atomic_load(&written) ||
	    fm_stats_path(where, pid, path, sizeof(path)))
		return;
	fm_stats_alone();
	if (fm_stats_json(&doc, pid, true))
		return;
	/* What it has executed may have written its own already. */
	stats_file_write(path, &doc, executed || !anything_managed());
	fm_json_free(&doc);
}

static void stats_file_stop(void)
{
	if (fm_settings()->mode == FM_MODE_OBSERVE && fm_unserved_any())
		fm_unserved_report();
	fm_summary();
	/* A child that never mapped has nothing to say. Who has confined
	 * itself may be ended for opening a file: the guardian writes. */
	if (fm_policy_any() && (fm_life_running() || !fm_life_is_child()) &&
	    fm_sys_may_ask())
		write_own();
}

static void stats_file_forked(void)
{
	atomic_store(&written, false);
	fm_stats_json_reset();
}

FM_LIFE(stats_file, .level = FM_LIFE_RUNNING, .forked = stats_file_forked,
	.stop = stats_file_stop, .dead = write_dead)
