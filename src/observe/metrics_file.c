/* SPDX-License-Identifier: MIT */
/*
 * metrics_file.c - the metrics in a file that node_exporter reads (its textfile
 * collector), every 15 s and at the end. A reader sees the old file or the new
 * one: it is written beside its place, under a name that the collector does not
 * read, and renamed. After a kill the guardian does the last one, which removes
 * what was half written. A program that was executed meanwhile has the same
 * process id and may write there, too: its file is spared.
 *
 * In a thread with descriptors of its own: the program never finds a number of
 * ours where it expects the next free one.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "metrics.h"
#include "policy.h"
#include "stats_priv.h"
#include "tunables.h"

/* Why it cannot be written, from the thread, which has no standard error; and
 * whether that was said, by this process or the one that it was forked from. */
static _Atomic int failed;
static bool said;

/* The thread and the end of the program write the same file, one after the
 * other. Held while the counts are read (FM_RANK_REPORT). */
static struct fm_lock lock = FM_LOCK(FM_RANK_METRICS);

/* What was written last; the guardian reads it. */
static struct {
	ino_t ino; /* 0: nothing yet */
	struct timespec changed;
} ours;

static void note_ours(int fd)
{
	struct stat st;

	if (fm_sys2(SYS_fstat, fd, &st))
		return;
	ours.ino = st.st_ino;
	ours.changed = st.st_mtim;
}

static bool metrics_file_is_ours(const char *path)
{
	struct stat st;

	return !fm_sys_stat(path, &st) && st.st_ino == ours.ino &&
	       st.st_mtim.tv_sec == ours.changed.tv_sec &&
	       st.st_mtim.tv_nsec == ours.changed.tv_nsec;
}

/* `by`: the process whose number the temporary file has. */
static int metrics_file_replace(const char *path, int pid, int by, bool alone)
{
	struct fm_json o = { 0 };
	struct fm_new_file n;
	int err;

	fm_metrics_text(&o, pid, alone);
	err = o.failed ? -ENOMEM : fm_new_file_begin(&n, path, by);
	if (!err) {
		err = fm_sys_write_all(n.fd, o.text, o.len);
		note_ours(n.fd);
		err = fm_new_file_end(&n, path, err);
	}
	fm_json_free(&o);
	return err;
}

static void write_file(void)
{
	const char *where = fm_settings()->metrics;
	const int pid = fm_sys_getpid();
	char path[4000];
	uint64_t mask;
	int err;

	if (!where || !fm_sys_may_ask())
		return;
	fm_block_signals(&mask);
	fm_lock(&lock);
	err = fm_stats_path(where, pid, path, sizeof(path)) ? -ENAMETOOLONG :
		metrics_file_replace(path, pid, pid, false);
	fm_unlock(&lock);
	fm_restore_signals(&mask);
	if (err)
		atomic_store(&failed, err);
}

static void metrics_file_say(void)
{
	const int err = atomic_load(&failed);

	if (!err || said)
		return;
	said = true;
	fm_log(FM_LOG_WARN,
	       "cannot write metrics to %s (errno %d: %s): is its folder "
	       "there, and may this user write there?",
	       fm_settings()->metrics, -err, fm_error_text(-err));
}

static void *writer(void *arg)
{
	static struct fm_kept_files kept; /* none: for the table */

	fm_thread_begin("fastmap-metrics");
	fm_read_keep(&kept);
	for (;;) {
		write_file();
		fm_thread_sleep_ms(fm_tune.metrics_every_ms);
	}
	return NULL;
}

static int metrics_file_start(void)
{
	return fm_settings()->metrics ? fm_thread_create(writer, NULL) : 0;
}

static void metrics_file_stop(void)
{
	if (!fm_life_running())
		return;
	write_file();
	metrics_file_say();
}

static void metrics_file_dead(int pid, bool executed)
{
	const char *where = fm_settings()->metrics;
	char path[4000];

	if (where && !fm_stats_path(where, pid, path, sizeof(path)) &&
	    (!executed || metrics_file_is_ours(path)))
		metrics_file_replace(path, pid,
				     executed ? fm_sys_getpid() : pid, true);
}

static void metrics_file_forked(void)
{
	fm_lock_reset(&lock);
}

static void metrics_file_reset(void)
{
	atomic_store(&failed, 0);
}

FM_LIFE(metrics_file, .level = FM_LIFE_RUNNING, .start = metrics_file_start,
	.second = metrics_file_say, .stop = metrics_file_stop,
	.forked = metrics_file_forked, .reset = metrics_file_reset,
	.dead = metrics_file_dead)
