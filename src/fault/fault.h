/* SPDX-License-Identifier: MIT */
/*
 * fault.h - internal side of the fault path; fm_fault() itself is in
 * engine.h. All [fault] safe, page lock held by the caller.
 */
#pragma once

#include "base/types.h"
#include "base/up.h"

/* A store to page i is about to be let through. */
void fm_fault_mark_dirty(struct fm_map *m, uint64_t i);

/* Handler threads for thread delivery. [plain] 0 or -errno. */
int fm_uffd_threads_start(void);

/* [plain] In a handler thread: nothing of ours can make the access to `addr`
 * fail the way it must, behind the end of the file (`beyond`) or where it
 * cannot be read; the kernel's mapping can. 0 or
 * -errno. */
FM_UPCALL(int, fault_unservable, struct fm_file *f, uintptr_t addr,
	  bool beyond);

/* The rest of what other rooms may use. */
#include "drain.h"
#include "fault_around.h"
#include "freeze.h"
#include "latency.h"
#include "map_edit.h"
#include "nearby.h"
