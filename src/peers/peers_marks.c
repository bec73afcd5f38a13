/* SPDX-License-Identifier: MIT */
/*
 * peers_marks.c - files of which the use by others is reported: by fanotify,
 * which tells whose an event is; where that is refused, by inotify.
 */
#include <linux/fanotify.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "peers_priv.h"
#include "vm/vm.h"

#ifndef FAN_REPORT_FID
#define FAN_REPORT_FID 0x200
#endif

static int fan = -1, ino_fd = -1;

/* By file id. */
static struct watch {
	_Atomic bool foreign;        /* somebody else has used it */
	_Atomic int wd;              /* inotify, else 0 */
	uint64_t fsid;               /* how fanotify names it */
	uint32_t handle_len, handle_type;
	unsigned char handle[64];
	struct timespec changed;     /* when the watch began, */
	bool fine;                   /* and it tells any change since */
} watches[FM_MAX_FILES];

static int raise_or_none(long fd)
{
	return fd < 0 ? -1 : fm_fd_raise((int)fd);
}

void fm_marks_start(int *ret_fan, int *ret_inotify)
{
	fan = raise_or_none(fm_sys2(SYS_fanotify_init,
				    FAN_CLASS_NOTIF | FAN_REPORT_FID |
					    FAN_CLOEXEC | FAN_NONBLOCK,
				    O_RDONLY | O_LARGEFILE));
	if (fan < 0)
		ino_fd = raise_or_none(fm_sys1(SYS_inotify_init1,
					       IN_CLOEXEC | IN_NONBLOCK));
	*ret_fan = fan;
	*ret_inotify = ino_fd;
}

void fm_marks_reset(void)
{
	fm_fd_drop(fan);
	fm_fd_drop(ino_fd);
	fan = ino_fd = -1;
	fm_sys_clear(watches, sizeof(watches));
}

#define FAN_MASK (FAN_OPEN | FAN_MODIFY | FAN_CLOSE)
#define INO_MASK (IN_OPEN | IN_MODIFY | IN_CLOSE)

/* Events carry a file handle instead of a descriptor: know ours. */
static bool remember_handle(struct fm_file *f, struct watch *w)
{
	struct {
		struct file_handle h;
		unsigned char room[sizeof(w->handle)];
	} h = { .h.handle_bytes = sizeof(w->handle) };
	char path[FM_PROC_FD];
	int mount;
	struct {
		long type, bsize;
		uint64_t blocks[5];
		uint64_t fsid;
		long more[8];
	} sf;

	fm_proc_fd(path, f->io->path);
	if (fm_sys5(SYS_name_to_handle_at, AT_FDCWD, path, &h, &mount,
		    AT_SYMLINK_FOLLOW) ||
	    fm_sys2(SYS_statfs, path, &sf))
		return false;
	memcpy(w->handle, h.h.f_handle, h.h.handle_bytes);
	w->handle_len = h.h.handle_bytes;
	w->handle_type = (uint32_t)h.h.handle_type;
	w->fsid = sf.fsid;
	return true;
}

static struct timespec peers_marks_changed(const struct fm_file *f)
{
	struct stat st = { 0 };

	fm_sys_fstat(f->io->path, &st);
	return st.st_ctim;
}

/* Has nobody changed it since the watch began, we included? A store through a
 * mapping changes it, too, with the first of a page. */
bool fm_watch_untouched(const struct fm_file *f)
{
	const struct watch *w = &watches[f->id];
	struct timespec now = peers_marks_changed(f);

	return w->fine && now.tv_sec == w->changed.tv_sec &&
	       now.tv_nsec == w->changed.tv_nsec;
}

int fm_watch_add(struct fm_file *f)
{
	struct watch *w = &watches[f->id];
	char path[FM_PROC_FD];
	int err = -ENOSYS;

	fm_proc_fd(path, f->io->path);
	if (!w->handle_len) { /* not for the second claim: pages are there */
		w->changed = peers_marks_changed(f);
		w->fine = fm_fine_times(f->io->path);
	}
	atomic_store(&w->foreign, false);
	if (fan >= 0 && remember_handle(f, w))
		err = (int)fm_sys5(SYS_fanotify_mark, fan, FAN_MARK_ADD,
				   FAN_MASK, AT_FDCWD, path);
	if (err && ino_fd >= 0) {
		err = (int)fm_sys3(SYS_inotify_add_watch, ino_fd, path,
				   INO_MASK);
		if (err > 0) {
			atomic_store(&w->wd, err);
			err = 0;
		}
	}
	if (err)
		fm_log(FM_LOG_INFO, "%s: cannot watch for other processes, "
		       "errno %d: %s", f->path, -err, fm_error_text(-err));
	return err;
}

void fm_watch_drop(struct fm_file *f)
{
	struct watch *w = &watches[f->id];
	char path[FM_PROC_FD];

	fm_proc_fd(path, f->io->path);
	if (atomic_load(&w->wd))
		fm_sys2(SYS_inotify_rm_watch, ino_fd, atomic_load(&w->wd));
	else if (w->handle_len)
		fm_sys5(SYS_fanotify_mark, fan, FAN_MARK_REMOVE, FAN_MASK,
			AT_FDCWD, path);
	atomic_store(&w->wd, 0);
	w->handle_len = 0;
}

bool fm_watch_by_inotify(const struct fm_file *f)
{
	return atomic_load(&watches[f->id].wd) != 0;
}

bool fm_watch_by_fanotify(const struct fm_file *f)
{
	return fan >= 0 && watches[f->id].handle_len &&
	       !fm_watch_by_inotify(f);
}

void fm_watch_foreign(const struct fm_file *f)
{
	atomic_store(&watches[f->id].foreign, true);
}

bool fm_watch_is_foreign(const struct fm_file *f)
{
	return atomic_load(&watches[f->id].foreign);
}

/* ---- whose an event is --------------------------------------------------- */

/* The file with a reference, found by what identifies it. */
static struct fm_file *peers_marks_pick(bool (*is)(const struct watch *,
						   const void *),
					const void *what)
{
	struct fm_file *f = NULL;

	FM_HOLD_SPACE();
	for (uint32_t id = 0; id < fm_file_top() && !f; id++) {
		if (is(&watches[id], what))
			f = fm_file_at(id);
	}
	if (f)
		fm_file_get(f);
	return f;
}

static bool is_wd(const struct watch *w, const void *what)
{
	return atomic_load(&w->wd) == *(const int *)what;
}

static bool is_handle(const struct watch *w, const void *what)
{
	const struct fanotify_event_info_fid *fid = what;
	const struct file_handle *h = (const void *)fid->handle;

	return w->handle_len && w->handle_len == h->handle_bytes &&
	       w->handle_type == (uint32_t)h->handle_type &&
	       !memcmp(&w->fsid, &fid->fsid, sizeof(w->fsid)) &&
	       !memcmp(w->handle, h->f_handle, w->handle_len);
}

struct fm_file *fm_watch_by_wd(int wd)
{
	return peers_marks_pick(is_wd, &wd);
}

struct fm_file *fm_watch_by_fid(const void *fid)
{
	return peers_marks_pick(is_handle, fid);
}
