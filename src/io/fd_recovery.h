/* SPDX-License-Identifier: MIT */
/*
 * fd_recovery.h - descriptors of ours that the program closed behind our back,
 * by a system call that the shim does not see (closefrom in assembly, a runtime
 * of its own). What they referred to lives on: the rings and through the home
 * ring userfaultfd by their mapped memory, and all of it in the guardian. So
 * faults go on being raised, and the numbers are found again or the access
 * fails; the kernel never fills a page with zeros.
 */
#pragma once

#include <stdbool.h>

#include "base/proc.h"
#include "base/sys.h"

/* [fault] Does this error say that the number is not (any more) what it was?
 * EBADFD: a message to a ring whose number is another file's. */
static inline bool fm_is_lost(long err)
{
	return err == -EBADF || err == -ENOTTY || err == -EOPNOTSUPP ||
	       err == -ENXIO || err == -EBADFD;
}

/* [fault] A new number for what the guardian keeps (FM_BACKUP_...), whose
 * number was `was`; `number`: where it is kept. 0: there is one, try again;
 * -errno; 1: it is not in the calling thread's table. */
int fm_recover_fd(_Atomic int *number, int was, unsigned what);

/* [fault] The descriptor of a file, without io_uring. */
struct fm_file;
bool fm_recover_file(struct fm_file *f);

/* [fault] A new f->io->path, by the file's name. False: another file has that
 * name now. */
bool fm_recover_path(struct fm_file *f);
/* [fault] The name in /proc by which f->io->path is opened, once it has been
 * found again if need be. Returns buf. */
const char *fm_recovered_path(struct fm_file *f, char buf[FM_PROC_FD]);

/* [fault] Say once that such a thing has been found again, or (err < 0) that it
 * is lost. */
void fm_recovery_tell(const char *what, int err);
