/* SPDX-License-Identifier: MIT */
/*
 * reflink.h - blocks that another file has, too (reflinks).
 *
 * A store to one needs a new block, as a store to a hole does, and so it is
 * asked for before the store is accepted, with FALLOC_FL_UNSHARE_RANGE.
 * Natively that is where the kernel raises SIGBUS on a full device. Of file
 * systems that have it: XFS, and overlayfs above it. btrfs has not
 * (docs/limits.md).
 */
#pragma once

struct fm_file;

/* How much is known of the file; a field of it. */
enum fm_unshare {
	FM_UNSHARE_NEVER,  /* its file system has no such thing */
	FM_UNSHARE_MAYBE,  /* nothing is shared as yet */
	FM_UNSHARE_ONCE,   /* blocks were when it was mapped */
	FM_UNSHARE_ALWAYS, /* they may be at any time: FP_ALLOC says nothing */
};

/* [plain] Under the space lock. f can be stored to by a mapping from now on; fd
 * is one of its descriptors: are blocks of it shared? */
void fm_shared_look(struct fm_file *f, int fd);
/* [any] A process has f open that may share its blocks. */
void fm_shared_maybe(struct fm_file *f);
