/* SPDX-License-Identifier: MIT */
/*
 * weigh.h - which advice is better for a part of a mapping (area.h says why).
 * No system calls, no state of its own. [any]
 */
#ifndef FM_WEIGH_H
#define FM_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

enum fm_advice {
	FM_ADVICE_NORMAL,
	FM_ADVICE_RANDOM,
	FM_ADVICE_UNKNOWN, /* it was said in a parent process */
};

/* How it has been touched of late. */
struct fm_pattern {
	uint32_t single;  /* touches here and there */
	uint32_t pages;   /* in a row */
	uint32_t seen_s;  /* second of the last single one; 0: never */
	uint8_t advice;   /* what the kernel has been told */
	bool huge;        /* and whether MADV_HUGEPAGE */
};

/* The kernel maps in aligned pieces, up to 2 MiB: the next fault of a stream is
 * at the beginning of one, or, backward, in the last page of one. How far it
 * may be from the last one where such a piece begins or ends. */
uintptr_t fm_stream_reach(uintptr_t border);

void fm_pattern_single(struct fm_pattern *p, uint32_t now_s);
void fm_pattern_row(struct fm_pattern *p, uint64_t pages);
/* What was, counts half. */
void fm_pattern_age(struct fm_pattern *p);
/* Is it enough to go by? */
bool fm_pattern_tells(const struct fm_pattern *p);

/* Bytes that a touch here or there has read in vain, of so many bytes and
 * faults in all that were touched like that. */
uint64_t fm_weigh_waste(const struct fm_pattern *p, uint64_t bytes,
			uint64_t faults);

/* So many single touches in a row, or those of a look, with so much read: is
 * that how it goes on, whatever was before? */
bool fm_weigh_changed(unsigned singles, uint64_t bytes, uint64_t faults);
bool fm_weigh_look(const struct fm_pattern *look, uint64_t bytes,
		   uint64_t faults);
/* Are there enough touches to ask that? */
bool fm_weigh_looked(const struct fm_pattern *look);

/* fits: what is touched here and there fits into memory. */
enum fm_advice fm_weigh(const struct fm_pattern *p, enum fm_advice now,
			uint64_t waste, bool fits);

/* Bytes. */
struct fm_weigh_memory {
	uint64_t left; /* that the process may still have */
	uint64_t read; /* by it, lately */
};

/* Does it, with so many single touches in segments that come to `touched`
 * bytes, of which there are `segments`? When nearly each touch was in a new
 * one there will be more: `all` bytes. What just fits does so until more has
 * been read than that: then it has been read again. */
bool fm_weigh_fits(uint64_t touches, unsigned segments, uint64_t touched,
		   uint64_t all, const struct fm_weigh_memory *m,
		   enum fm_advice now);

#endif
