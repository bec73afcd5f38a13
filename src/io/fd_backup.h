/* SPDX-License-Identifier: MIT */
/*
 * fd_backup.h - copies of the engine's descriptors in another process.
 *
 * A process that shares the program's memory, but not its table of descriptors,
 * has a copy of each that we cannot do without: the program may close numbers
 * that it does not own, and writes outlive it. That process is the guardian
 * (process/guardian.h); what is here is how descriptors get there and back.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/types.h"
#include "base/up.h"

/* [fault] The process that keeps them, 0 when there is none (any more). */
int fm_backup_pid(void);

/* [fault] A copy of a descriptor as it was when the process started, raised and
 * registered as ours. New number or -errno. */
#define FM_CLAIM_FDS 16 /* size: files */
enum {
	FM_BACKUP_UFFD,
	FM_BACKUP_HOME,
	FM_BACKUP_PLACE, /* of claims on files, the first */
	FM_BACKUPS = FM_BACKUP_PLACE + FM_CLAIM_FDS
};
int fm_backup_getfd(unsigned what);
/* [fault] Like fm_backup_getfd, of the file's descriptor that fm_backup_file
 * has sent. */
int fm_backup_get_file(const struct fm_file *f);

/* [plain] Under the space lock, asynchronous signals blocked. f has been opened
 * and is about to be mapped: start the process unless it is there. Without
 * io_uring, where data descriptors are plain numbers, it also gets a copy of
 * the file's, once, which fm_backup_drop takes away before the file is closed.
 * 0 or -errno. */
int fm_backup_file(struct fm_file *f);
void fm_backup_drop(struct fm_file *f);
/* [plain] The place of claims number k is another file now, open as fd:
 * our claims on it are to last as long as the guardian writes. */
void fm_backup_registry(unsigned k, int fd);

/* ---- for the process that keeps them ------------------------------------- */

/* [plain] Starts the process, unless it is there. 0 or -errno. */
FM_UPCALL(int, backup_begin, void);

extern struct fm_backup {
	_Atomic uint32_t tid; /* the kernel clears it when it ends */
	int owner;            /* the program */
	int sock[2];          /* [0] the program's end, [1] the other */
	struct stat sock_is;  /* what the program's end was */
	/* Numbers in its table. The descriptions of places have the program's
	 * claims. */
	int kept[FM_BACKUPS];
	int32_t file_fd[FM_MAX_FILES];
} fm_backup;

/* [plain] Receive one message and its descriptor. False when there is none. Raw
 * system calls only. */
bool fm_backup_take(int sock);
/* [plain] Send the descriptor of a file that was opened before the process was
 * there. 0 or -errno. */
int fm_backup_add(struct fm_file *f);
/* [plain] Send a message that says nothing: it wakes the process. */
void fm_backup_nudge(void);
