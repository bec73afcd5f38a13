/* SPDX-License-Identifier: MIT */
/* engine_priv.h - start and stop of the engine, internal side. */
#ifndef FM_ENGINE_PRIV_H
#define FM_ENGINE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start on first need, under the space lock. 0, or -errno when this process
 * cannot be served (said once on stderr). */
int fm_engine_need(void);
bool fm_engine_running(void);

/* In the child of fork: forget everything, start anew on the next need. */
void fm_engine_forked(void);

/* fsize.c: could the engine not write up to there? */
bool fm_beyond_fsize(uint64_t end);

/* mlock.c: mlockall(MCL_FUTURE) is in force, new memory cannot be ours. */
bool fm_memory_locked(void);
/* The same, of a call that was hidden from us: by a look at new memory. */
bool fm_memory_look(void);
void fm_locked_reset(void); /* child of fork: locks are not inherited */

/* fileio.c: another process may have inherited descriptors. */
extern _Atomic bool fm_fds_shared;

/* uffd_threads.c: handler threads for thread delivery. */
int fm_handlers_start(void);

#endif
