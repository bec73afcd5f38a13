/* SPDX-License-Identifier: MIT */
/*
 * tables.h - tables of descriptors: the kernel keeps one for each thread.
 *
 * Threads of a process share one, and in it are our descriptors. A thread may
 * get another (unshare(CLONE_FILES), close_range with CLOSE_RANGE_UNSHARE,
 * clone without CLONE_FILES): what either of them opens from then on is a
 * number that in the other's table is free, or somebody else's. So once one has
 * left, the engine takes no mapping any more, and what it has goes to the
 * kernel: by the hook before the call (vm/parted.c); where that was an
 * instruction of the program's own, when such a thread maps a file, or misses a
 * descriptor.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So many threads of the program have left the table; FM_TABLES_FOUND is not
 * undone. */
extern _Atomic uint32_t fm_tables_split;
#define FM_TABLES_FOUND (1u << 31) /* bits: a mark */

/* [any] The engine's table is the calling thread's. */
void fm_table_engine(void);
/* [fault] Is it not? Then they are split, but for a thread of ours. One system
 * call; where that is forbidden, no. */
bool fm_table_is_other(void);
