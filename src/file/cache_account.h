/* SPDX-License-Identifier: MIT */
/*
 * cache_account.h - how many pages the cache may have, and how many it has.
 * What is done about it when it is full is the cache's (cache/cache.h).
 *
 * Counts pages that are present in any mapping, and what has landed ahead of
 * need: all together, and those of each file.
 */
#pragma once

#include "base/types.h"

/* [fault] Pages that the cache may have, and pages that it has. */
uint64_t fm_cache_limit(void);
int64_t fm_cache_resident(void);
/* [any] The cache may have `bytes`. */
void fm_cache_resize(uint64_t bytes);

/* [fault] n more pages of f; returns how many there are now, of all files.
 * fm_cache_charge makes room for them as well. Each page has its file, but for
 * those that outlive it (vm/unmap_cache.h): NULL. */
int64_t fm_cache_count(struct fm_file *f, uint64_t n);
/* [fault] n pages of f fewer. */
void fm_cache_uncharge(struct fm_file *f, uint64_t n);
/* [fault] n pages that were nobody's are those of f. */
void fm_cache_assign(struct fm_file *f, uint64_t n);
/* [fault] Pages of f. */
int64_t fm_cache_of(const struct fm_file *f);
/* [plain] In the child of fork. */
void fm_cache_count_reset(void);
