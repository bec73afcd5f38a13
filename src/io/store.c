/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "base/file_part.h"
#include "base/sys.h"
#include "device.h"

FM_FILE_PART(io)

/* The first that takes a file has it. */
#define STORES(X)    \
	X(null)      \
	X(backing)   \
	X(pagecache) \
	X(uring)     \
	X(pread)

#define DECLARE(name) extern const struct fm_store fm_store_##name;
#define ENTRY(name)   &fm_store_##name,

STORES(DECLARE)
static const struct fm_store *const stores[] = { STORES(ENTRY) };

const struct fm_store *fm_store_choose(struct fm_file *f, int fd,
				       const struct stat *st)
{
	const struct fm_store *const *s = stores;

	f->io->device = fm_device_of(f->dev);
	f->io->dio_align = 4096; /* whatever a store knows better */
	while (!(*s)->takes(f, fd, st))
		s++; /* pread takes all */
	return *s;
}

FM_FAULT void fm_store_use_pagecache(struct fm_file *f)
{
	atomic_store(&f->io->store, &fm_store_pagecache);
}
