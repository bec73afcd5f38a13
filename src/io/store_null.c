/* SPDX-License-Identifier: MIT */
/*
 * store_null.c - FASTMAP_NULL_STORE, for benches: what a file holds comes at no
 * cost, what is written goes nowhere. So no file that could be anybody's data:
 * one that has no blocks at all, and a name made for the purpose.
 */
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "policy.h"
#include "ring_priv.h"
#include "store.h"

extern const struct fm_store fm_store_null;

#define NAME ".null-store"

static bool store_null_takes(struct fm_file *f, int fd, const struct stat *st)
{
	size_t n = strlen(f->path), k = strlen(NAME);

	if (!fm_settings()->null_store)
		return false;
	if (st->st_blocks == 0 && n > k && !strcmp(f->path + n - k, NAME))
		return true;
	fm_log(FM_LOG_WARN, "%s: served as ever: the null store takes files "
	       "named *" NAME " that are one hole", f->path);
	return false;
}

/* Opened for who asks for a descriptor, and for the guardian. */
static int store_null_open_below(struct fm_file *f, int fd, int flags,
				 bool buffered)
{
	int err = fm_store_below()->open(f, fd, flags, buffered);

	return buffered ? err : 0;
}

static FM_FAULT bool read_zeros(struct fm_ring *r, struct fm_io *io)
{
	memset(io->buf, 0, io->len);
	fm_ring_finish(r, io, (long)io->len);
	return false;
}

static FM_FAULT bool store_null_forget(struct fm_ring *r, struct fm_io *io)
{
	fm_ring_finish(r, io, (long)io->len);
	return false;
}

static FM_FAULT bool succeed(struct fm_ring *r, struct fm_io *io)
{
	fm_ring_finish(r, io, 0);
	return false;
}

static struct fm_store_io calls FM_FAULT_CALLS = {
	.read = read_zeros,
	.write = store_null_forget,
	.allocate = succeed,
	.sync = succeed,
};

const struct fm_store fm_store_null = {
	.name = "null",
	.direct = true,
	.keeps = false,
	.takes = store_null_takes,
	.open = store_null_open_below,
	.close = fm_store_close_below,
	.dup = fm_store_dup_below,
	.io = &calls,
};
