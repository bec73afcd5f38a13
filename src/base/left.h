/* SPDX-License-Identifier: MIT */
/*
 * left.h - the main thread may end by itself (SYS_exit, by an instruction of
 * its own), and natively the process ends with its last thread. Ours would keep
 * it for good: one that looks around now and then ends it instead.
 */
#pragma once

#include <stdbool.h>

/* [plain] Of a thread of ours: is no thread of the program left? *ret_status:
 * what the process ends with then, the status of its main thread, or 0 where
 * others went on after it. */
bool fm_left_alone(int *ret_status);
/* [plain] And then end the process: where the engine does not run, each thread
 * of ours that may be the last one asks now and then. */
void fm_left_end_if_alone(void);
/* [plain] Is the thread of that number one of ours, or a ring's? */
bool fm_left_is_ours(const char *tid);
