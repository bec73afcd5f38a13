/* SPDX-License-Identifier: MIT */
/*
 * guardian.h - the process that outlives the program.
 *
 * It shares the program's memory and nothing else. When the program dies by
 * any cause (SIGKILL included), or leaves this memory by exec, it writes the
 * dirty pages to their files and exits. It also keeps the engine's
 * descriptors alive for a program that closes numbers that it does not own
 * (io/fd_backup.h), and writes the statistics and removes the control socket if
 * the program did not.
 *
 * It is a child of the program, which reaps it at its end. Who has been killed
 * reaps nobody: then it is an orphan, as it is where the program waits for
 * children that raise no signal, or is to see that the program has executed
 * another (fm_guardian_disown).
 *
 * Which stores can still be lost is listed in guardian_flush.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* [any] Under the space lock. The guardian is not needed any more: it has gone,
 * and with it its share of the memory, when this returns. */
void fm_guardian_end(void);

/* [any] Under the space lock. The guardian becomes no child of the program, for
 * good: another one takes its place, some 0.2 ms later. 0 or -errno, then there
 * is none. */
int fm_guardian_disown(void);

/* ---- inside the guardian: raw system calls only ------------------------ */

struct fm_guard_files {
	int pagemap;   /* /proc/self/pagemap, or -1 */
	int32_t *fd;   /* by file id, -1: none; only without io_uring */
};

/* [plain] Write every dirty page of this memory back. Nobody else may run in
 * it. Raw system calls only. */
void fm_guardian_flush(const struct fm_guard_files *g);
