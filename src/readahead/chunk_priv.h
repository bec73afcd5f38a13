/* SPDX-License-Identifier: MIT */
/* chunk_priv.h - shared by chunk.c (table, mapping) and chunk_thread.c. */
#ifndef FM_CHUNK_PRIV_H
#define FM_CHUNK_PRIV_H

#include "base/sys.h"
#include "cache/huge.h"
#include "chunk.h"
#include "io/ring.h"

#define FM_CHUNK_SKIP 16 /* pages in a row that need not come */
#define FM_CHUNKS (128 + FM_STANDBY)

/* PREP and TAKING have an owner; QUEUED and INFLIGHT are the thread's. */
enum { CH_FREE, CH_PREP, CH_QUEUED, CH_INFLIGHT, CH_READY, CH_TAKING };

struct fm_chunk {
	_Atomic uint32_t state;   /* futex */
	_Atomic bool dead;
	struct fm_file *file;
	uint64_t first, n;        /* file pages */
	long got;                 /* pages with data, or -errno */
	uint32_t map_id, map_gen; /* eager: whom to map it into */
	bool eager;
	bool uncached;            /* the page cache does not have all of it */
	uint64_t stamp;           /* ms; of standby: see standby.c */
	uint64_t charged;         /* standby: pages that count as cached */
	struct fm_frame *frame;
	int piece;                /* index, or -1 */
	char *mem;
	struct fm_io io;
};

extern struct fm_chunk fm_chunks[FM_CHUNKS];
extern struct fm_lock fm_chunk_lock; /* table, wants, pieces */

/* A chunk (CH_PREP) over absent pages that no chunk covers, with a frame for
 * standby. NULL: there is none, or no room. */
struct fm_chunk *fm_chunk_get_standby(struct fm_file *f, uint64_t first);

int fm_chunk_top(void); /* those from here on are CH_FREE */
void fm_chunk_set_state(struct fm_chunk *c, uint32_t s);
void fm_chunk_release(struct fm_chunk *c);
void fm_chunk_clear_flags(struct fm_file *f, uint64_t first, uint64_t n);
void fm_chunk_map(struct fm_chunk *c, struct fm_map *m);

/* chunk_thread.c */
void fm_chunk_bell(void);
int fm_chunk_thread_start(void);
void fm_chunk_thread_reset(void);

#endif
