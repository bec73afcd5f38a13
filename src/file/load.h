/* SPDX-License-Identifier: MIT */
/* load.h - bring file data into memory. [fault] safe. */
#pragma once

#include "base/types.h"

struct fm_file_load {
	bool sparse; /* has (had) holes: allocate before stores */
	_Atomic uint8_t unshare; /* enum fm_unshare */
	bool shared_looked;      /* at whether its blocks are */
	_Atomic bool told_failed; /* of a page that could not be had */
	/* on a full file system */
	_Atomic uint64_t no_commit_before_ms;
	/* the page cache; see fm_load_asks_cache */
	_Atomic uint32_t cache_asked, cache_cold;
	/* after short writes, in the second that began at */
	_Atomic uint32_t reloads;
	_Atomic uint64_t reloads_from; /* ms */
};

/* Read n pages from page fp on into buf (page aligned). Bytes beyond the end
 * of the file are zero. Returns how many pages have at least one byte of the
 * file (0: all beyond the end), or -errno. */
long fm_load(struct fm_file *f, uint64_t fp, uint64_t n, void *buf);

/* fm_load from the page cache only, without waiting: -EAGAIN when not all is
 * there. */
long fm_load_cached(struct fm_file *f, uint64_t fp, uint64_t n, void *buf);

/* Is the page cache to be asked first, for a file that is written through it?
 * Then say whether it had what was asked for. */
bool fm_load_asks_cache(struct fm_file *f);
void fm_load_asked_cache(struct fm_file *f, bool hit);

/* Has any of the n pages been written through the page cache? Then it is read
 * so. */
bool fm_load_through_cache(struct fm_file *f, uint64_t fp, uint64_t n);

/* After a transfer returned `res` for n pages: zero the rest, count pages. */
long fm_load_finish(uint64_t n, long res, void *buf);

/* Is that known already? Then a store to it needs no more. */
bool fm_load_has_room(const struct fm_file *f, _Atomic uint8_t *p);

/* Make sure that a store to page fp cannot fail for want of space: allocate
 * the file's blocks. The page is locked. 0, -ENOSPC, -EDQUOT, -EIO. */
int fm_load_allocate(struct fm_file *f, uint64_t fp, _Atomic uint8_t *p);

/* For a thread that serves faults and may be acted for (uffd_deadlock.h), else
 * NULL. FM_LOAD_ALLOCATES: it has its page locked, and waits for a block. Who
 * sets FM_LOAD_LENT acts for it, and gives it back. */
enum { FM_LOAD_ELSE, FM_LOAD_ALLOCATES, FM_LOAD_LENT };
extern _Thread_local _Atomic uint32_t *fm_load_phase
	__attribute__((tls_model("initial-exec")));
