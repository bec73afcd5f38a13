/* SPDX-License-Identifier: MIT */
/* wb_priv.h - between wb.c and wb_thread.c. */
#ifndef FM_WB_PRIV_H
#define FM_WB_PRIV_H

#include "wb.h"

/* Write dirty pages of [first, end), `most` or a few more; `wait` as with
 * fm_wb_range. Adds those written to *ret_pages. 0 or the first -errno. */
int fm_wb_some_of(struct fm_file *f, uint64_t first, uint64_t end, bool wait,
		  unsigned most, unsigned *ret_pages);
void fm_wb_runs_reset(void);

#endif
