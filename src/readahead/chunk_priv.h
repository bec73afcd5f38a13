/* SPDX-License-Identifier: MIT */
/* chunk_priv.h - shared by chunk.c (reading, mapping) and chunk_thread.c. */
#ifndef FM_CHUNK_PRIV_H
#define FM_CHUNK_PRIV_H

#include "cache/cache.h"
#include "chunk.h"

/* [fault] Map what has landed; the owner of c still has to give it up. */
void fm_chunk_map(struct fm_chunk *c, struct fm_map *m);

/* [fault] Wake the thread (chunk_thread.c). */
void fm_chunk_bell(void);
/* [plain] 0 or -errno. reset: in the child of fork. */
int fm_chunk_thread_start(void);
void fm_chunk_thread_reset(void);

#endif
