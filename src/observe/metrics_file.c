/* SPDX-License-Identifier: MIT */
/*
 * metrics_file.c - the metrics in a file that node_exporter reads (its textfile
 * collector), every 15 s and at the end. A reader sees the old file or the new
 * one: it is written beside its place, under a name that the collector does not
 * read, and renamed. After a kill the guardian does the last one, which removes
 * what was half written.
 *
 * In a thread with descriptors of its own: the program never finds a number of
 * ours where it expects the next free one.
 */
#include <errno.h>
#include <string.h>

#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "metrics.h"
#include "policy.h"
#include "stats_priv.h"

#define EVERY_MS 15000

/* Why it cannot be written, from the thread, which has no standard error; and
 * whether that was said, by this process or the one that it was forked from. */
static _Atomic int failed;
static bool said;

/* "/x/a.prom.1234.tmp", where `path` is /x/a.prom. */
static int beside(const char *path, int pid, char *buf, size_t size)
{
	char digits[12], end[20];

	fm_number_text(digits, (unsigned)pid);
	fm_join(end, sizeof(end), digits, ".tmp", "");
	return fm_join(buf, size, path, ".", end);
}

static int write_new(const char *path, const struct fm_json *o)
{
	int err, fd;

	fm_sys1(SYS_unlink, path);
	fd = fm_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0644);
	if (fd < 0)
		return fd;
	err = fm_sys_write_all(fd, o->text, o->len);
	fm_sys_close(fd);
	if (err)
		fm_sys1(SYS_unlink, path);
	return err;
}

static int replace(const char *path, int pid, bool alone)
{
	struct fm_json o = { 0 };
	char temporary[4096];
	int err;

	if (beside(path, pid, temporary, sizeof(temporary)))
		return -ENAMETOOLONG;
	fm_metrics_text(&o, pid, alone);
	err = o.failed ? -ENOMEM : write_new(temporary, &o);
	fm_json_free(&o);
	if (!err)
		err = (int)fm_sys2(SYS_rename, temporary, path);
	return err;
}

static void write_file(void)
{
	const char *where = fm_settings()->metrics;
	const int pid = fm_sys_getpid();
	char path[4000];
	int err;

	if (!where || !fm_sys_may_ask())
		return;
	err = fm_stats_path(where, pid, path, sizeof(path)) ? -ENAMETOOLONG :
		replace(path, pid, false);
	if (err)
		atomic_store(&failed, err);
}

static void say(void)
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
		fm_thread_sleep_ms(EVERY_MS);
	}
	return NULL;
}

static int start(void)
{
	return fm_settings()->metrics ? fm_thread_create(writer, NULL) : 0;
}

static void stop(void)
{
	if (!fm_life_running())
		return;
	write_file();
	say();
}

static void dead(int pid, bool executed)
{
	const char *where = fm_settings()->metrics;
	char path[4000];

	if (where && !fm_stats_path(where, pid, path, sizeof(path)))
		replace(path, pid, true);
}

static void reset(void)
{
	atomic_store(&failed, 0);
}

FM_LIFE(metrics_file, .level = FM_LIFE_RUNNING, .start = start, .second = say,
	.stop = stop, .reset = reset, .dead = dead)
