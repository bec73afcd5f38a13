/* SPDX-License-Identifier: MIT */
/*
 * kernel_monitor.h - a thread that looks once a second at what the kernel
 * serves: does the program wait for it (mmap/engine_trial.h)?
 *
 * It is there while there are such ranges that may be advised and the engine
 * does not run, which has a thread for that, and has the program's descriptors:
 * the thread that advises (helper.h) has a table of its own, in which nothing
 * can be opened for the engine. While nothing is read it sleeps. Not where
 * nothing is ever promoted (`promote = 0`).
 */
#pragma once

#include "base/up.h"

/* [any] There is a range: the thread starts, unless it is there. */
void fm_kernel_monitor_need(void);
/* [any] It has ended when this returns, or a hundred milliseconds later. */
void fm_kernel_monitor_end(void);
/* [plain] In a child of fork, where it is not. It comes with the next range. */
void fm_kernel_monitor_forked(void);

/* [any] Something is read (helper.c looks), or from now on nobody says so. */
void fm_kernel_monitor_reads(void);
void fm_kernel_monitor_untold(void);
/* [any] Has nothing been read for some seconds? */
bool fm_kernel_monitor_idle(void);
/* [any] Do not sleep on: the engine runs. */
void fm_kernel_monitor_wake(void);

/* [plain] What it does. */
FM_UPCALL(void, kernel_monitor, void);
