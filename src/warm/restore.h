/* SPDX-License-Identifier: MIT */
/* restore.h - what was hot is read into memory. Inside warm/ only: by its
 * thread. */
#pragma once

#include "record.h"

/* [plain] Read what r->old says into memory, as far as it is mapped and there
 * is room. Asks between two reads whether to go on, holding nothing. */
void fm_warm_restore(struct fm_warm_record *r, bool (*goes_on)(void));
