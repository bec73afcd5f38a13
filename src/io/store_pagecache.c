/* SPDX-License-Identifier: MIT */
/*
 * store_pagecache.c - a file whose blocks only the page cache may move: its
 * policy says so (io=buffered), its file system has no direct I/O, or has
 * refused some.
 */
#include "base/sys.h"
#include "policy.h"
#include "store.h"

extern const struct fm_store fm_store_pagecache;

#define STATX_DIO 0x2000u /* STATX_DIOALIGN, Linux 6.1 */

/* Direct I/O wants offsets in units of the device's logical block. Opening
 * with O_DIRECT then tells whether the file system does it at all. */
static bool store_pagecache_takes(struct fm_file *f, int fd,
				  const struct stat *st)
{
	struct statx sx;
	/* stx_dio_mem_align, stx_dio_offset_align: absent from old headers */
	const uint32_t *dio = (const uint32_t *)((const char *)&sx + 0x98);

	if (f->policy->io == FM_IO_BUFFERED)
		return true;
	if (fm_sys5(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIO, &sx) ||
	    !(sx.stx_mask & STATX_DIO))
		return false;
	if (dio[1] == 0 || dio[1] > FM_PAGE)
		return true;
	f->io->dio_align = dio[1];
	return false;
}

static int store_pagecache_open_below(struct fm_file *f, int fd, int flags,
				      bool buffered)
{
	return fm_store_below()->open(f, fd, flags, buffered);
}

static FM_FAULT bool read_buffered(struct fm_ring *r, struct fm_io *io)
{
	io->buffered = true;
	return fm_store_below()->io->read(r, io);
}

static FM_FAULT bool write_buffered(struct fm_ring *r, struct fm_io *io)
{
	io->buffered = true;
	return fm_store_below()->io->write(r, io);
}

static FM_FAULT bool store_pagecache_allocate(struct fm_ring *r,
					      struct fm_io *io)
{
	return fm_store_below()->io->allocate(r, io);
}

static FM_FAULT bool sync_below(struct fm_ring *r, struct fm_io *io)
{
	return fm_store_below()->io->sync(r, io);
}

static struct fm_store_io calls FM_FAULT_CALLS = {
	.read = read_buffered,
	.write = write_buffered,
	.allocate = store_pagecache_allocate,
	.sync = sync_below,
};

const struct fm_store fm_store_pagecache = {
	.name = "pagecache",
	.direct = false,
	.keeps = true,
	.takes = store_pagecache_takes,
	.open = store_pagecache_open_below,
	.close = fm_store_close_below,
	.dup = fm_store_dup_below,
	.io = &calls,
};
