/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include "base/fds.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/new_file.h"
#include "policy.h"

#define RECORDS 4096
#define FILES 4096 /* size: of what a number names */
#define FILE_SHIFT 36 /* bits: the file's number above the page's */

_Atomic bool fm_tracing;
static struct fm_lock lock;
static uint64_t buf[RECORDS];
static unsigned used;
static int fd = -1;

static FM_FAULT void trace_write_out(void)
{
	if (fm_fd_still_ours(fd))
		fm_sys3(SYS_write, fd, buf, used * sizeof(buf[0]));
	else if (atomic_exchange(&fm_tracing, false))
		fm_log(FM_LOG_WARN, "the program has closed the trace of "
		       "faults: it ends here");
	used = 0;
}

static int open_trace(const char *path)
{
	struct fm_new_file n;
	int err = fm_new_file_begin(&n, path, fm_sys_getpid());

	if (err)
		return err;
	err = fm_new_file_name(&n, path);
	if (err) {
		fm_sys_close(n.fd);
		return err;
	}
	fd = fm_fd_raise(n.fd);
	atomic_store(&fm_tracing, true);
	return 0;
}

FM_FAULT void fm_trace_record(uint32_t file, uint64_t page, bool write)
{
	page = (page & ((1ull << FILE_SHIFT) - 1)) |
	       (uint64_t)(file % FILES) << FILE_SHIFT;

	fm_lock(&lock);
	buf[used++] = page | (uint64_t)write << 48;
	if (used == RECORDS)
		trace_write_out();
	fm_unlock(&lock);
}

static void trace_stop(void)
{
	if (!atomic_exchange(&fm_tracing, false))
		return;
	FM_HOLD(&lock);
	trace_write_out();
}

/* The file goes on in the parent. */
static void trace_reset(void)
{
	atomic_store(&fm_tracing, false);
	fm_lock_reset(&lock);
	used = 0;
	fm_fd_drop(fd);
	fd = -1;
}

static int trace_start(void)
{
	const char *path = fm_settings()->trace;
	int err = path ? open_trace(path) : 0;

	if (err)
		fm_log(FM_LOG_WARN,
		       "cannot write the trace to %s, errno %d: %s", path, -err,
		       fm_error_text(-err));
	return 0;
}

FM_LIFE(trace, .level = FM_LIFE_HELPERS, .start = trace_start,
	.reset = trace_reset, .stop = trace_stop)
