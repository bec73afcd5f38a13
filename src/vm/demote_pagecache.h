/* SPDX-License-Identifier: MIT */
/*
 * demote_pagecache.h - the page cache has what our cache had, when a file is
 * demoted.
 *
 * Without us the pages that the program has touched would be in the page cache.
 * What is dirty is written through it (and our copy dropped, where that is
 * much, for memory has room for one). What is clean cannot be put there but by
 * reading it again: the kernel is asked to, run by run, many at a time, when
 * its mapping has taken the place of ours and our memory is free. Else each
 * page would be read when it is touched, one after the other, and as much
 * around it as the device's read-ahead says. Where all that is mapped fits, and
 * the device reads it in short time, all of it is asked for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"

struct fm_fetch;
struct fm_file;

/* What goes to the kernel at once, or a file alone (0 bytes). */
struct fm_demote_request {
	enum fm_server_reason why;
	uint64_t bytes; /* of the mappings of all such files */
};
/* [any] Is a file with mappings of so many bytes brought whole? Where all that
 * go fit into memory (UINT64_MAX: not known yet), and since they do: the
 * program would wait for them page by page. */
bool fm_resident_all(const struct fm_demote_request *g, uint64_t bytes,
		     uint64_t memory);

/* [plain] Under the space lock: what is resident now, of all mappings of f.
 * Without memory for it nothing. */
void fm_resident_note(struct fm_file *f, struct fm_fetch *ret);
/* [plain] Likewise: all that is mapped of f, resident or not. */
void fm_resident_note_all(struct fm_file *f, struct fm_fetch *ret);
/* [plain] The frozen file f: what is dirty goes to the page cache. */
void fm_demote_write_pagecache(struct fm_file *f);
/* [plain] The mappings are the kernel's. Asks for some at once, for the rest
 * later, by the thread that writes back. Takes what h holds. */
void fm_resident_bring(struct fm_fetch *h);
