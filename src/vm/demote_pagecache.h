/* SPDX-License-Identifier: MIT */
/*
 * demote_pagecache.h - the page cache has what our cache had, when a file is handed to the kernel.
 *
 * Without us the pages that the program has touched would be in the page cache. What is
 * dirty is written through it (and our copy dropped, where that is much, for memory has
 * room for one). What is clean cannot be put there but by reading it again: the kernel is
 * asked to, run by run, many at a time, when its mapping has taken the place of ours and
 * our memory is free. Else each page would be read when it is touched, one after the
 * other, and as much around it as the device's read-ahead says.
 */
#ifndef FM_DEMOTE_PAGECACHE_H
#define FM_DEMOTE_PAGECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_file;

/* Pages at addresses one behind the other. */
struct fm_handed_run {
	uintptr_t start, end;
};

struct fm_handed {
	struct fm_handed_run *v;
	size_t n, room, at; /* run to go on with */
	uint64_t asked;     /* bytes, up to now */
};

/* [plain] Under the space lock: what is resident now, of all mappings of f. Without
 * memory for it nothing. */
void fm_handed_note(struct fm_file *f, struct fm_handed *ret);
/* [plain] The frozen file f: what is dirty goes to the page cache. */
void fm_handed_write(struct fm_file *f);
/* [plain] The mappings are the kernel's. Asks for some at once, for the rest later, by
 * the thread that writes back. Takes what h holds. */
void fm_handed_bring(struct fm_handed *h);
/* [plain] For about ms milliseconds. Is any left? */
bool fm_handed_ask(struct fm_handed *h, uint64_t ms);
/* What has not been asked for goes to the end of the other. */
void fm_handed_move(struct fm_handed *to, struct fm_handed *h);
void fm_handed_forget(struct fm_handed *h);

#endif
