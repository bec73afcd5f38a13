/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - memory for engine metadata, apart from the program's allocator.
 * [any], never [fault]: one mutex, signals blocked while it is held.
 */
#pragma once

#include <stddef.h>

/* Zeroed, 16-byte aligned; NULL without memory. */
void *fm_alloc(size_t size);
/* New bytes are not zeroed. NULL without memory: p is as it was. */
void *fm_realloc(void *p, size_t size);
void fm_free(void *p);

/* [plain] Hold the allocator over fork; signals are blocked by the caller. The
 * child unlocks as well. */
void fm_alloc_lock(void);
void fm_alloc_unlock(void);
