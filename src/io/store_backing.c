/* SPDX-License-Identifier: MIT */
/*
 * store_backing.c - a file whose bytes are elsewhere: backing.h. A demand read
 * waits for the source and holds no ring meanwhile, for it may take for ever.
 */
#include "base/sys.h"
#include "device.h"
#include "engine.h"
#include "policy.h"
#include "ring_priv.h"
#include "backing.h"
#include "store.h"

extern const struct fm_store fm_store_backing;

static bool store_backing_takes(struct fm_file *f, int fd,
				const struct stat *st)
{
	int err;

	if (!fm_sourced() || !f->policy->source || st->st_size)
		return false;
	f->io->backing = fm_backing_of(f->policy->source, f->path, &err);
	if (f->io->backing)
		f->io->device = fm_device_of(f->io->backing->dev);
	return f->io->backing;
}

static int store_backing_open(struct fm_file *f, int fd, int flags,
			      bool buffered)
{
	return (flags & O_ACCMODE) == O_RDONLY ? 0 : -EROFS;
}

static void store_backing_close(struct fm_file *f)
{
}

static int store_backing_dup(const struct fm_file *f)
{
	return -EOPNOTSUPP;
}

static FM_FAULT int64_t store_backing_size(const struct fm_file *f)
{
	return f->io->backing->size;
}

static FM_FAULT long store_backing_wait(struct fm_io *io)
{
	if (io->op != FM_READ)
		return -EROFS;
	return fm_backing_read(io->file->io->backing, io->buf, io->off,
			       io->len);
}

FM_FAULT bool fm_io_cancel(struct fm_io *io)
{
	struct fm_backing *s = io->file->io->backing;

	if (!s || !s->kind->io->cancel)
		return false;
	s->kind->io->cancel(s, io);
	return true;
}

static FM_FAULT bool store_backing_begin(struct fm_ring *r, struct fm_io *io)
{
	const struct fm_backing *s = io->file->io->backing;

	if (s->kind->io->begin && io->off < (uint64_t)s->size)
		return s->kind->io->begin(r, io);
	fm_ring_finish(r, io, store_backing_wait(io));
	return false;
}

static FM_FAULT bool store_backing_refuse(struct fm_ring *r, struct fm_io *io)
{
	fm_ring_finish(r, io, -EROFS);
	return false;
}

static struct fm_store_io calls FM_FAULT_CALLS = {
	.read = store_backing_begin,
	.write = store_backing_refuse,
	.allocate = store_backing_refuse,
	.sync = store_backing_refuse,
	.wait = store_backing_wait,
	.size = store_backing_size,
};

const struct fm_store fm_store_backing = {
	.name = "source",
	.direct = false,
	.keeps = false,
	.only_engine = true,
	.takes = store_backing_takes,
	.open = store_backing_open,
	.close = store_backing_close,
	.dup = store_backing_dup,
	.io = &calls,
};
