/* SPDX-License-Identifier: MIT */
/*
 * store_kept.h - blocks of a source that were read once, kept in a file here
 * (an option of sources that are far away). The file is sparse: a head, a table
 * with a checksum of each block, the blocks. A checksum begins with what the
 * source is and which block it is of, so whatever lies in the file, torn by a
 * crash, of another source or written by another process meanwhile, is either
 * these bytes or no match, and then it is read anew. Nothing is locked but the
 * head, and nothing waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills buf from the source. 0, or errno. */
typedef int kept_fetch_fn(unsigned worker, void *buf, size_t n, uint64_t off);

/* `identity` is the source's: another one has other bytes. Of its `size` bytes
 * at most `most` are kept (0: all). False: it is not to be had, which is said;
 * then the source is read without it. */
bool kept_open(const char *path, uint64_t identity, uint64_t size,
	       uint64_t most, kept_fetch_fn *fetch);
/* n bytes, which lie within the size, kept or fetched. 0, or errno. */
int kept_read(unsigned worker, void *buf, size_t n, uint64_t off);
