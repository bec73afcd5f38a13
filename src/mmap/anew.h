/* SPDX-License-Identifier: MIT */
/*
 * anew.h - files that are mapped and unmapped again and again, by windows.
 *
 * To take a file over costs a look at all processes, some milliseconds where
 * there are hundreds of them. A program that maps piece after piece of a file,
 * each when the last is gone, would pay that for each piece, and nothing of
 * what the engine has learnt of the file is there for the next. So where four
 * such times are shorter than 50 ms in the mean, or what takes the file over
 * was more than a quarter of them, the kernel serves what is mapped of it in
 * the next minute (5 minutes when the next four are no better, then 25). Not
 * what is more than twice as long as the longest of them, for a header may be
 * looked at before all of the file is mapped, nor what is longer than 64 MiB:
 * who maps so much for a few accesses is helped by the engine. Not where the
 * policy says serve=engine or warm=engine.
 */
#ifndef FM_ANEW_H
#define FM_ANEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/types.h"

struct fm_policy;

/* [plain] Under the space lock, all of them. Is a mapping of this file, of
 * len bytes, better the kernel's? It has none of ours. */
bool fm_anew_leave(const struct stat *st, size_t len,
		   const struct fm_policy *p);
/* [plain] It has its first mapping, at which the call was since from_ns. */
void fm_anew_begins(const struct stat *st, size_t len, uint64_t from_ns);
/* [plain] Instead of that: it could not be taken over, for another process has
 * it, say. That counts as a mapping that was gone at once. */
void fm_anew_refused(const struct stat *st, size_t len, uint64_t from_ns);

#endif
