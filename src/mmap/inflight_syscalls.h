/* SPDX-License-Identifier: MIT */
/*
 * inflight_syscalls.h - system calls that have begun before the hooks looked.
 *
 * While the engine may take nothing back, no hook asks whether the memory that
 * a call is given is the kernel's (fm_any_promotable). Who makes a file
 * promotable that the engine never had, marks the threads that there are: each
 * may be in such a call, and the kernel would find what it is about to use
 * missing. It is not any more once it is seen to wait for something else: for a
 * page, or in a call that is another than before, or which by its arguments has
 * nothing of ours; or when it has used the CPU for long in user mode. All
 * [plain], under the space lock.
 */
#pragma once

#include <stdbool.h>

/* Of all threads. False: there are too many, or they may not be looked at. */
bool fm_inflight_syscalls_mark(void);
/* Has none of the threads been in its call since then? Asked now and then. */
bool fm_inflight_syscalls_over(void);
