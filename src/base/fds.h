/* SPDX-License-Identifier: MIT */
/*
 * fds.h - descriptor numbers of the engine (rings, uffd, O_PATH): high, few,
 * and known (fm_fd_is_ours in engine.h). [any], unless it says more.
 */
#pragma once

#include <stdbool.h>

int fm_fd_raise(int fd); /* move to a high number, register; new or -errno */
/* [fault] Forget it; and close it, if it is still what it was. */
void fm_fd_forget(int fd);
void fm_fd_drop(int fd);
/* Is fd what was raised? The program may have closed it by a system call that
 * nobody saw, and have something of its own by now: ask before a read, write or
 * accept. Descriptors without a type (eventfd, inotify, ...) are all the same.
 * [fault] */
bool fm_fd_still_ours(int fd);
