/* SPDX-License-Identifier: MIT */
/* store_below.c - for stores on top of another: which one that is. */
#include "base/sys.h"
#include "ring.h"
#include "store.h"

extern const struct fm_store fm_store_uring, fm_store_pread;

FM_FAULT const struct fm_store *fm_store_below(void)
{
	return fm_rings_uring() ? &fm_store_uring : &fm_store_pread;
}

void fm_store_close_below(struct fm_file *f)
{
	fm_store_below()->close(f);
}

int fm_store_dup_below(const struct fm_file *f)
{
	return fm_store_below()->dup(f);
}
