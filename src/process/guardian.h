/* SPDX-License-Identifier: MIT */
/*
 * guardian.h - the process that outlives the program.
 *
 * It shares the program's memory and nothing else. When the program dies by
 * any cause (SIGKILL included), or leaves this memory by exec, it writes the
 * dirty pages to their files and exits. It also keeps the engine's
 * descriptors alive for a program that closes numbers that it does not own, and
 * writes the statistics and removes the control socket if the program did not.
 *
 * Which stores can still be lost is listed in guardian_flush.c.
 */
#ifndef FM_GUARDIAN_H
#define FM_GUARDIAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_file;

/* Under the space lock, with every asynchronous signal blocked. Idempotent; a
 * guardian that was killed is started again. 0 or -errno. */
int fm_guardian_start(void);
/* Its process id, 0 when there is none (any more). [fault] */
int fm_guardian_pid(void);
/* It is not needed any more: it has gone, and with it its share of the memory, when this
 * returns. Under the space lock. */
void fm_guardian_end(void);
/* The guardian shall be what the program has become (creds.h). False: it has not been
 * heard of for two seconds; it will, before it does anything else. If it cannot, it opens
 * nothing by name. */
bool fm_guardian_order(void);

/* [fault] A copy of a descriptor as it was when the guardian started, raised
 * and registered as ours. New number or -errno. */
enum fm_guarded { FM_GUARD_UFFD, FM_GUARD_HOME, FM_GUARDED };
int fm_guardian_getfd(enum fm_guarded what);
/* [fault] The same of what fm_guardian_add gave it. */
int fm_guardian_get_file(const struct fm_file *f);

/* Without io_uring data descriptors are plain numbers: hand the guardian its
 * own copy after a file was opened for writing, take it away before the file
 * is closed. Nothing to do with io_uring. */
int fm_guardian_add(struct fm_file *f);
void fm_guardian_drop(struct fm_file *f);
/* The registry of processes is another now: the claims are to last as long as the
 * guardian writes. */
void fm_guardian_registry(int fd);

/* ---- inside the guardian: raw system calls only ------------------------ */

struct fm_guard_files {
	int pagemap;   /* /proc/self/pagemap, or -1 */
	int32_t *fd;   /* by file id, -1: none; only without io_uring */
};

/* Write every dirty page of this memory back. Nobody else may run in it. */
void fm_guardian_flush(const struct fm_guard_files *g);

#endif
