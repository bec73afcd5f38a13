/* SPDX-License-Identifier: MIT */
/*
 * nearby.h - how many pages around the one that is missed pay for themselves,
 * as measured of each file.
 *
 * What is there already is not seen to be used, so it is measured where it is
 * not there: in one of 16 regions of 256 KiB pages come one at a time, and each
 * that is missed soon after another of its group would not have been, had the
 * group come along. So all answers are known, whichever is in use (Qureshi et
 * al., ISCA'07, section 5, duel sets of a cache likewise). Soon is before
 * groups of that size, for the misses that they leave, would have filled half
 * the cache.
 *
 * Pages that streams bring are no misses, but would be with a server that reads
 * no streams, or would come along there. So the same is counted of all pages
 * that come, in the same regions: that is for the judge, who compares servers.
 *
 * What it costs is counted over all files: which part of the pages that come is
 * missed again, after it has left. So what comes along drives out as much of
 * value as a page of a cache has on the average: nothing while there is room,
 * and little where a scan has been there. serve/miss.h weighs it.
 */
#pragma once

#include "base/types.h"
#include "serve/serve.h"

struct fm_nearby_set {
	_Atomic uint32_t seen; /* misses in the regions that are measured */
	_Atomic uint32_t saved[FM_MISS_SIZES]; /* had the group come along */
};

struct fm_file_nearby {
	struct fm_nearby_set single, all; /* without streams, and with them */
	_Atomic uint32_t group; /* that comes elsewhere, 0: none yet */
	_Atomic uint64_t waits; /* for what was not there, or just coming */
	_Atomic uint64_t used;  /* and 1/FM_MISS_ALL pages of it, about */
};

/* [fault] A demand read of page fp of f begins: as many pages of its group as
 * are to come, it among them. */
uint32_t fm_nearby_pages(struct fm_file *f, uint64_t fp);
/* [fault] It brings n. */
void fm_nearby_asked(struct fm_file *f, uint64_t n);
/* [fault] A reader has come to a chunk of n pages from page fp of f. */
void fm_nearby_streamed(struct fm_file *f, uint64_t fp, uint64_t n);
/* [any] What has been counted of f, of misses of single pages. */
void fm_nearby_counts(const struct fm_file *f, struct fm_miss_counts *ret);
/* [any] And of all pages. */
void fm_nearby_all(const struct fm_file *f, struct fm_miss_counts *ret);
