/* SPDX-License-Identifier: MIT */
/* chunk_priv.h - shared by chunk.c (reading, mapping) and chunk_thread.c. */
#pragma once

#include "base/event.h"
#include "cache/cache.h"
#include "chunk.h"

/* [fault] Map what has landed; the owner of c still has to give it up. */
void fm_chunk_map(struct fm_chunk *c, struct fm_map *m);

/* Wakes the thread (wants.c). */
extern struct fm_event fm_chunk_bell;
/* [plain] Is there a thread that reads? */
void fm_chunk_use(bool yes);
