/* SPDX-License-Identifier: MIT */
/*
 * shares.h - which file makes room. Its policy says what it may have of the
 * cache (cache-share), what is left to it (cache-floor), when its turn comes
 * (priority) and which of its pages go last (pin).
 *
 * The eviction queues exist once for each pool (evict_queues.h). Files of a
 * priority share one; a file with a share or a floor has a pool of its own, and
 * pinned pages of all files lie in one. So who makes room is a choice among
 * pools, and no page of a protected file is met and passed over. As long as no
 * file has any of these keys there is one pool, and nothing is chosen.
 *
 * [fault] but where it says so; who reads a file's pool holds an epoch.
 */
#pragma once

#include "base/types.h"

struct fm_file_shares {
	/* what it may have of the cache: follows a reload */
	_Atomic(const struct fm_policy *) policy;
	_Atomic uint8_t pool; /* of pages that are not pinned */
	uint64_t since_ms;    /* its first mapping */
	_Atomic bool asked;   /* the program has pinned pages of it */
	/* how much all files had, when its reader went on */
	_Atomic uint64_t streamed;
};

/* [plain] Under the space lock: f, which was opened, goes by this policy. Also
 * once more, by another one. */
void fm_shares_apply(struct fm_file *f, const struct fm_policy *policy);
/* [plain] The policies were read again: each file of the table goes by its new
 * one. Takes the space lock. */
void fm_shares_reload(void);

/* Pages [fp, fp + n) of f come into the cache: pinned, if it is the time for
 * that. */
void fm_shares_come(struct fm_file *f, uint64_t fp, uint64_t n);
bool fm_shares_pinned(struct fm_file *f, uint64_t fp);
/* [plain] Pages [fp, fp + n) of f, whose memory is mapped, are pinned by the
 * program, or are not any more. */
void fm_shares_pin(struct fm_file *f, uint64_t fp, uint64_t n, bool pin);
/* [plain] The first run of pages in [fp, stop) that the program has pinned:
 * true, and where it begins, and its pages. */
bool fm_shares_pins(struct fm_file *f, uint64_t fp, uint64_t stop,
		    uint64_t *ret_fp, uint64_t *ret_n);
/* [plain] In the child of fork, which has pinned nothing. */
void fm_shares_forked(struct fm_file *f);
/* f streams, or does not: streaming.h. Of no effect where it has keys. */
void fm_shares_stream(struct fm_file *f, bool streams);
/* Its reader has gone on, by n pages. */
void fm_shares_streamed(struct fm_file *f, uint64_t n);
/* The pool of f's pages that are not pinned. */
unsigned fm_shares_open(const struct fm_file *f);
/* The pool that page fp of f belongs to. */
unsigned fm_shares_pool(struct fm_file *f, uint64_t fp);

/* The pool of this shard (of so many) that makes room, but for those whose bit
 * is set in `asked`. FM_EVICT_POOLS: there is none. *ret_most: pages that it
 * may give, UINT64_MAX but for a probe (probe.h). */
unsigned fm_shares_victim(unsigned shard, unsigned shards, uint64_t asked,
			  uint64_t *ret_most);
/* May what leaves this pool rest in standby? */
bool fm_shares_rests(unsigned pool);

/* [any] For the statistics: pages, and the name of the priority. */
struct fm_shares_of {
	uint64_t share, floor;
	const char *priority;
	bool streams; /* streaming.h */
	bool pins; /* its policy or the program pins pages */
};
struct fm_shares_of fm_shares_of(const struct fm_file *f);
