/* SPDX-License-Identifier: MIT */
/*
 * uffd_deadlock.h - thread delivery: a system call of the program's own that
 * works on a file, holds the file's lock, and waits for a page of the same
 * file, which needs that lock.
 *
 * libc's calls get other memory for that (shim/io_guard.c, shim/io_ioctl.c).
 * One that passes them by would wait for ever, and everybody who wants the
 * lock. Natively a fault needs another lock. So after a while a store to a page
 * that is there is let through without a block of its own (write-back will get
 * one, or say so), and a page that is missing is EFAULT, as it is with signals.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* [plain] Handler i (below FM_HANDLERS) is about to serve a fault of thread tid
 * at address a (begin), and has done so (end). */
void fm_deadlock_begin(unsigned i, uintptr_t a, uint32_t tid);
void fm_deadlock_end(unsigned i);
/* [plain] By a handler that waits for work: look for threads that wait so, and
 * let them go on. lately: it should look again soon. */
void fm_deadlock_look(void);
bool fm_deadlock_lately(void);

#define FM_HANDLERS 16
