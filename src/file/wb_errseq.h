/* SPDX-License-Identifier: MIT */
/*
 * wb_errseq.h - write-back errors that nobody has been told when the last
 * mapping of the file went, and the data with it: fsync(2) still says so, once.
 */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What is to be written back, and how. */
struct fm_file_wb {
	_Atomic uint32_t err;  /* last errno, 0 when reported */
	_Atomic uint64_t dirty_since_ms;
	_Atomic bool buffered; /* goes through the page cache */
	_Atomic bool sheds; /* only written so, see fm_wb_urgent */
	_Atomic bool mixed; /* buffered, no direct write in flight */
	bool mapped; /* by stores, see file.c */
};

struct fm_file;

/* [any] Under the space lock. note: f is closed, and its error is kept. back: f
 * is opened again, and gets it back. */
void fm_errseq_note(struct fm_file *f);
void fm_errseq_back(struct fm_file *f);

/* [fault] Write-back of f has failed with err: the next msync or fsync says so.
 * False: it does not, since the failure is our own doing, and what was dirty is
 * dirty still. */
bool fm_wb_err_note(struct fm_file *f, int err);

/* [fault] What msync and fsync say of an error of our write: what a device or a
 * file system has said of it. Any other may be our own doing. */
static inline int fm_wb_told(int err)
{
	switch (err) {
	case 0:
	case -EBADE:
	case -EDQUOT:
	case -EILSEQ:
	case -ENODATA:
	case -ENOLINK:
	case -ENOSPC:
	case -EREMOTEIO:
	case -ESTALE:
	case -ETIMEDOUT:
		return err;
	default:
		return -EIO;
	}
}
