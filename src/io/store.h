/* SPDX-License-Identifier: MIT */
/*
 * store.h - where the bytes of a mapped file come from and go to.
 *
 * A store is a struct of callbacks; each file has one (f->io->store), chosen
 * when it is opened, by the first of the table in store.c that takes it:
 *
 *	null       reads zeros, forgets writes: what the engine itself costs
 *	backing    bytes that are in no file of the kernel's: backing.h
 *	pagecache  files without direct I/O, or io=buffered; on top of one of
 *	           the next
 *	uring      fixed files of io_uring, many transfers at a time
 *	pread      pread(2) and the like on descriptors, one at a time
 *
 * All but `backing` are views of one file of the kernel's: the program's own
 * calls see it too, its size is what stat(2) says (fm_file_size_now), and the
 * guardian writes to it by system calls of its own (guardian_flush.c), for it
 * may call nothing that has state. A read of several pieces is a batch of
 * transfers (fm_ring_submit), no vector: each has a buffer of its own and ends
 * by itself.
 *
 * Where the kernel has no such file (only_engine), it cannot serve the mapping:
 * whatever would need that fails (file/only_engine.h), and the store says how
 * large the file is.
 *
 * To add one: a file store_NAME.c, its name in the table and in meson.build, a
 * line above (CONTRIBUTING.md).
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/types.h"
#include "ring.h"

/* Who moves the bytes of a file. */
struct fm_file_io {
	_Atomic(const struct fm_store *) store;
	struct fm_backing *backing; /* backing.h, or NULL */
	struct fm_device *device; /* what its reads cost: device.h */
	uint32_t dio_align; /* bytes: direct I/O granule, 512 or 4096 */
	bool writable;      /* write descriptors are open */
	int path;           /* O_PATH descriptor, high number, or -1 */
	/* without io_uring, else -1; before it could be stored to */
	int direct, buffered, was[2];
	int kept; /* `buffered` as the guardian has it */
	_Atomic uint32_t cached; /* loads from the page cache */
	_Atomic uint32_t asked;  /* transfers under way */
	_Atomic uint64_t heard_ms; /* one ended last, or the first began */
};

/*
 * [fault] Begin a transfer in the ring, which the caller has for itself, with
 * all signals blocked or in a thread of ours. No lock but the home ring's, no
 * allocation, no wait for anything but the device. True: it is in flight, and
 * the ring's completion ends it. False: it has ended, by fm_ring_finish.
 *
 * Offsets and lengths are bytes. What is not `buffered` is in units of
 * f->io->dio_align, and its memory is page-aligned. The result is the number of
 * bytes (less at the end of the file, or by chance: the caller takes it up
 * again), 0 of allocate and sync, or -errno. These have a meaning: -EAGAIN (of
 * `nowait`: not in the page cache), -EINTR (again), -ECANCELED (again, by
 * somebody else: the kernel could make no worker), -EINVAL of a transfer that
 * is not buffered (the file cannot do that: it is the page cache's from then
 * on), -EOPNOTSUPP of allocate (blocks come with the write). All others are
 * what the program is told.
 */
struct fm_store_io {
	bool (*read)(struct fm_ring *r, struct fm_io *io);
	bool (*write)(struct fm_ring *r, struct fm_io *io);
	/* Blocks for [off, off+len), the size stays. */
	bool (*allocate)(struct fm_ring *r, struct fm_io *io);
	bool (*sync)(struct fm_ring *r, struct fm_io *io);
	/* NULL; or for what may not answer for a long time: do the whole
	 * transfer, and wait, without a ring. What is read ahead goes by
	 * `read` all the same. */
	long (*wait)(struct fm_io *io);
	/* NULL: what stat(2) says. */
	int64_t (*size)(const struct fm_file *f);
};

struct fm_store {
	const char *name;
	bool direct; /* what is not `buffered` passes the page cache by */
	bool keeps; /* what is written lies in blocks of the file: they are
		     * allocated before a store, and memory that holds them is
		     * worth keeping */

	bool only_engine; /* the kernel has no file with these bytes; it is
			   * only read */

	/* [plain] Is this file one for it? It is f->path and fd, and nothing of
	 * f is open yet. Under the space lock. */
	bool (*takes)(struct fm_file *f, int fd, const struct stat *st);
	/* [plain] Open it anew, from fd, for transfers that are `buffered` or
	 * are not (then flags has O_DIRECT); once more when it is to be written
	 * to, over what is open, while transfers go on. 0 or -errno; without
	 * direct I/O -errno makes the file the page cache's. Under the space
	 * lock. */
	int (*open)(struct fm_file *f, int fd, int flags, bool buffered);
	/* [plain] No transfer is in flight. Drops no record lock of the
	 * program's. */
	void (*close)(struct fm_file *f);
	/* A descriptor of it, opened for what it is, in the table of who calls:
	 * a process that shares the memory, whose parent has all signals
	 * blocked and waits, within fm_ring_dup_begin. Or -errno. */
	int (*dup)(const struct fm_file *f);

	/* A struct of its own, FM_FAULT_CALLS: tests/checks/fault_context sees
	 * that these are FM_FAULT. */
	const struct fm_store_io *io;
};

/* [plain] The first store of the table that takes f. Under the space lock. */
const struct fm_store *fm_store_choose(struct fm_file *f, int fd,
				       const struct stat *st);
/* [fault] Direct I/O does not work on f, after all. */
void fm_store_use_pagecache(struct fm_file *f);
/* [fault] For stores on top of another: that one, uring or pread. */
const struct fm_store *fm_store_below(void);
/* [plain] Close and dup of the store below. */
void fm_store_close_below(struct fm_file *f);
int fm_store_dup_below(const struct fm_file *f);

static inline const struct fm_store *fm_store_of(const struct fm_file *f)
{
	return atomic_load_explicit(&f->io->store, memory_order_relaxed);
}

/* [fault] Can nobody but the engine serve it? */
static inline bool fm_only_engine(const struct fm_file *f)
{
	return fm_store_of(f)->only_engine;
}
