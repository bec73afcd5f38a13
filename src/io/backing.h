/* SPDX-License-Identifier: MIT */
/*
 * backing.h - bytes that are in no file of the kernel's.
 *
 * A policy gives a path a source (source=KIND:WHERE). The file of that path is
 * empty and stays so: the kernel has nothing to show. Its size is the source's,
 * and what reads it, a fault or a call, asks the source. There is one struct
 * for each text of a policy, however many paths have it, made when it is first
 * wanted and kept.
 *
 * To add a kind that a fault can read by itself: a file backing_NAME.c with a
 * struct fm_backing_kind, and a line in the table of backing.c and in
 * policy/options.c. Any other: a file cmd/store_NAME.c with a struct
 * store_kind, and a line in the table of store_main.c and in policy/options.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_io;
struct fm_ring;
struct fm_backing;

struct fm_backing_io {
	/* [fault] Read some of [off, off + len), which lies within the size,
	 * and wait for it. The number of bytes; -errno. */
	long (*read)(struct fm_backing *s, void *buf, uint64_t off,
		     uint64_t len);
	/* [fault] NULL, or the same in the ring, for what is read ahead: as
	 * struct fm_store_io says of its read. */
	bool (*begin)(struct fm_ring *r, struct fm_io *io);
	/* [fault] NULL, or: nobody wants io any more, which has been begun and
	 * which the caller keeps as it is. It ends now, by -ECANCELED; if it is
	 * just being begun or ended, nothing happens. */
	void (*cancel)(struct fm_backing *s, struct fm_io *io);
};

struct fm_backing_kind {
	const char *prefix; /* of the text: "files:" */
	/* [plain] Signals blocked, under a lock. `where` is what follows the
	 * prefix. Sets size, dev and own. 0; or -errno, and why. */
	int (*open)(struct fm_backing *s, const char *where);
	const struct fm_backing_io *io;
};

struct fm_backing {
	const char *text;
	const struct fm_backing_kind *kind;
	int64_t size; /* bytes */
	dev_t dev;    /* its reads cost what this device's do: device.h */
	void *own;    /* the kind's */
	bool open, told;
	char why[200]; /* it could not be opened */
	char path[256]; /* of the first file that has it, for what is said */
	struct fm_backing *next;
};

/* [any] The source with this text, that of `path`, opened. NULL: it cannot be
 * had, which is said once; *ret_err is -errno. */
struct fm_backing *fm_backing_of(const char *text, const char *path,
				 int *ret_err);
