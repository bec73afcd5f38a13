/* SPDX-License-Identifier: MIT */
/* stats.h - what the engine has done, as JSON. */
#ifndef FM_STATS_H
#define FM_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct fm_file;

/* [fault] A fault took ns from signal to return. */
void fm_stats_fault_ns(uint64_t ns);

/* [plain] Everything as text; give it back with fm_json_free. `alone`: in the
 * guardian, of the dead program pid. 0 or -ENOMEM. */
int fm_stats_json(struct fm_json *ret, int pid, bool alone);

/* [plain] Write it where the settings say. `%p` in the path becomes the pid; a
 * forked child adds ".PID", so that it spares its parent's file; a process
 * that managed nothing does not overwrite a file that is there. */
void fm_stats_write(void);
/* In the guardian: the same for the dead program, unless it has; or for one that
 * lives and has executed something else. */
void fm_stats_write_dead(int pid, bool executed);

/* In the child of fork: count from zero. */
void fm_stats_reset(void);

#endif
