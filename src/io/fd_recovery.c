/* SPDX-License-Identifier: MIT */
#include "fd_recovery.h"

#include <fcntl.h>
#include "base/fds.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/tables.h"
#include "fd_backup.h"
#include "store.h"

static struct fm_lock lock = FM_LOCK(FM_RANK_LOST); /* finding one */

FM_FAULT void fm_recovery_tell(const char *what, int err)
{
	static _Atomic bool told;

	if (atomic_exchange(&told, true))
		return;
	if (err < 0)
		fm_log(FM_LOG_ERROR, "the program has closed descriptors of "
		       "fastmap (%s) and they are not to be found again, errno "
		       "%d: access to what is not resident raises SIGBUS",
		       what, -err);
	else
		fm_log(FM_LOG_NOTE, "the program has closed descriptors of "
		       "fastmap (%s): found again", what);
}

/* ---- from the guardian ------------------------------------------------- */

FM_FAULT int fm_recover_fd(_Atomic int *number, int was, unsigned what)
{
	const bool place = what >= FM_BACKUP_PLACE;
	int fd;

	if (fm_table_is_other())
		return 1;
	FM_HOLD(&lock);
	fd = atomic_load(number);
	if (fd == was) {
		fd = fm_backup_getfd(what);
		if (fd >= 0) {
			fm_recovery_tell(place ? "claims" : "userfaultfd", fd);
			fm_fd_forget(was);
			atomic_store(number, fd);
		}
	}
	return fd < 0 ? fd : 0;
}

static FM_FAULT bool is_right(int fd, const struct fm_file *f)
{
	return fm_sys_is_file(fd, f->dev, f->ino);
}

FM_FAULT bool fm_recover_file(struct fm_file *f)
{
	int fd, was;

	if (fm_table_is_other())
		return false;
	fm_lock(&lock);
	if (!is_right(f->io->buffered, f)) {
		fd = fm_backup_get_file(f);
		if (fd >= 0 && !is_right(fd, f)) {
			fm_fd_drop(fd);
			fd = -ENOENT;
		}
		fm_recovery_tell(f->path, fd);
		was = f->io->buffered;
		f->io->buffered = fd;
		fm_fd_forget(was);
	}
	if (!is_right(f->io->direct, f) && f->io->direct >= 0) {
		fm_fd_forget(f->io->direct);
		f->io->direct = -1;
	}
	fd = f->io->buffered;
	fm_unlock(&lock);
	return fd >= 0;
}

FM_FAULT bool fm_recover_path(struct fm_file *f)
{
	int fd, was;

	if (fm_table_is_other())
		return is_right(f->io->path, f);
	fm_lock(&lock);
	was = f->io->path;
	if (was >= 0 && !is_right(was, f)) {
		fd = fm_sys_open(f->path, O_PATH, 0);
		if (is_right(fd, f)) {
			f->io->path = fm_fd_raise(fd);
			fm_fd_forget(was);
			fm_recovery_tell(f->path, 0);
		} else if (fd >= 0) {
			fm_sys_close(fd);
		}
	}
	fd = f->io->path;
	fm_unlock(&lock);
	return is_right(fd, f);
}

FM_FAULT const char *fm_recovered_path(struct fm_file *f, char buf[FM_PROC_FD])
{
	fm_recover_path(f);
	return fm_proc_fd(buf, f->io->path);
}
