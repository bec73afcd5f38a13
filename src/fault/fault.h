/* SPDX-License-Identifier: MIT */
/*
 * fault.h - internal side of the fault path; fm_fault() itself is in
 * engine.h. All [fault] safe, page lock held by the caller.
 */
#ifndef FM_FAULT_H
#define FM_FAULT_H

#include "base/types.h"

/* A store to page i is about to be let through. */
void fm_fault_mark_dirty(struct fm_map *m, uint64_t i);
/* Wait until the file is not being demoted. */
void fm_wait_frozen(struct fm_file *f);

/* Handler threads for thread delivery. [plain] 0 or -errno. */
int fm_handlers_start(void);

/* The rest of what other rooms may use. */
#include "fault_around.h"

#endif
