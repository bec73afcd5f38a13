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

#endif
