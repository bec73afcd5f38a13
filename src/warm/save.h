/* SPDX-License-Identifier: MIT */
/* save.h - states are written, and looked for. Inside warm/ only. [plain], and
 * in the guardian. */
#pragma once

#include "record.h"

enum fm_save_when {
	FM_SAVE_LIVE, /* the program works on */
	FM_SAVE_END,  /* it ends: all it has stored is in the file */
	FM_SAVE_DEAD, /* it has ended, this is the guardian */
};

/* All files. `make`: the directory, too. How many states have been written, or
 * -errno. */
int fm_warm_save_all(enum fm_save_when when, bool make);

/* Look for the state of r, once; r->old is what it says. The descriptor of the
 * lock on it, or -1. */
int fm_warm_look(struct fm_warm_record *r);
