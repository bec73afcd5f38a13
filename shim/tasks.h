/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Whether `test` says yes to the text of /proc/self/task/TID/status for any
 * thread: 1 or 0, or -errno without /proc. */
typedef bool (*fm_task_fn)(const char *tid, const char *status);
int fm_tasks_any(fm_task_fn test);
/* of this one; not if it is gone */
bool fm_task_is(const char *tid, fm_task_fn test);
