/* SPDX-License-Identifier: MIT */
/* opens.h - files of ours that somebody else has opened, by file id. */
#pragma once

#include "base/types.h"
#include "openers.h"

extern struct fm_file_openers {
	_Atomic uint32_t since_ms; /* the first that is not judged yet, or 0 */
	_Atomic uint32_t count;
	uint32_t judged;           /* up to this count; under the space lock */
	_Atomic uint32_t looks;    /* ... taken for mappings */
	/* ... up to this count, looked at for word */
	_Atomic uint32_t asked;
	struct fm_openers who;
} fm_opens[FM_MAX_FILES];

/* [any] ms, never 0. begin: it is to be judged from now on; true: it had not
 * been. end: it is not; true: it had been. */
uint32_t fm_open_now_ms(void);
bool fm_open_begin(struct fm_file_openers *o);
bool fm_open_end(struct fm_file_openers *o);
