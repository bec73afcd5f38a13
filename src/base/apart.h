/* SPDX-License-Identifier: MIT */
/*
 * apart.h - a process for a moment that shares our memory but not our
 * descriptors: what it opens and closes is not the program's, and closing a
 * descriptor drops no record lock of the program's. And a thread for a moment
 * without any descriptors.
 */
#pragma once

#include "up.h"

/* [fault] Run fn, which makes raw system calls only, in such a process, and
 * wait for it. 0, -errno. */
int fm_apart(void (*fn)(void *arg), void *arg);
/* [fault] The number of that process: it may open a file on our behalf. */
FM_UPCALL(void, apart_begun, int pid);

/*
 * [plain] For what opens files by name, reads them and closes them again: open
 * gives the lowest number, on which programs rely that close one and open
 * another. In a thread of ours that shares the program's table, fn runs in
 * another thread, without descriptors, and this one waits for it; elsewhere,
 * and where that cannot be, at once. fn takes no lock.
 */
void fm_apart_from_fds(void (*fn)(void *arg), void *arg);
/* [plain] The program has been confined (fm_sys_confined): fn runs at once from
 * then on, and the thread that stays for it ends. */
void fm_apart_confined(void);
