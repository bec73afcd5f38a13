/* SPDX-License-Identifier: MIT */
/* wb_priv.h - between wb.c, wb_span.c and wb_thread.c. */
#pragma once

#include "base/event.h"
#include "file/file.h"
#include "wb.h"

#define FM_RUN 256 /* size: pages of a span that are written: 1 MiB */
#define FM_WB_FEW 64 /* size: pages: who wants no more waits for room */
#define FM_SPAN 1024 /* pages from the first to the last one of a span */

/* [fault] Is there something to write in this page, which is locked? */
static inline bool fm_wb_due(_Atomic uint8_t *p)
{
	return (fm_page_state(p) & (FP_DIRTY | FP_WB)) == FP_DIRTY;
}

/* Pages of m that are about to be written: protected, and marked FP_WB. */
struct fm_span {
	struct fm_map *m;
	uint64_t i, n; /* [i, i + n) of m */
	uint64_t taken[FM_SPAN / 64];
	bool protect;
};

/* [fault] Page i of m is locked, dirty and not in flight: take it and what is
 * dirty behind it, up to i + max at most. Unlocks it. */
void fm_span_take(struct fm_span *s, struct fm_map *m, uint64_t i,
		  uint64_t max);
/* [fault] The same of n pages from i on, FM_SPAN at most, all locked and dirty,
 * none in flight. */
void fm_span_of(struct fm_span *s, struct fm_map *m, uint64_t i, uint64_t n);
bool fm_span_has(const struct fm_span *s, uint64_t k);

enum fm_wb_way {       /* bits: */
	FM_WB_TRY = 0,   /* passes over pages that are locked */
	FM_WB_WAIT = 1,  /* for every page */
	FM_WB_AHEAD = 2, /* of need: was that of use? */
	FM_WB_YIELD = 4, /* lets others run */
	FM_WB_BACKGROUND = FM_WB_AHEAD | FM_WB_YIELD,
};

/* When write-back of any file failed last; 0: never. */
extern _Atomic uint64_t fm_wb_failed_ms;

/* [fault] Write dirty pages of [first, end), `most` or a few more. Adds those
 * that are clean now to *ret_pages: what is stored to all the time, or while a
 * call stores into it, can be written forever. 0 or the first -errno. */
int fm_wb_some_of(struct fm_file *f, uint64_t first, uint64_t end,
		  enum fm_wb_way way, unsigned most, unsigned *ret_pages);
/* [plain] In the child of fork. */
void fm_wb_runs_reset(void);
void fm_wb_most_reset(void);

/* What fm_wb_kick rings, for the thread. */
extern struct fm_event fm_wb_kicked;
/* [fault] So many pages have been cleaned ahead of need. */
void fm_wb_cleaned(uint64_t pages);
/* [plain] From time to time: draw conclusions from what was stored to again. */
void fm_wb_conclude(void);
