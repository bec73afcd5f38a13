/* SPDX-License-Identifier: MIT */
/*
 * advice_cost.h - which advice costs less, and when that is sure
 * (advice_choice.h says of what). Nothing but arithmetic. [any]
 *
 * Each look says what the touches that it has seen cost with either advice, in
 * nanoseconds. What the advice that there is has lost since it was last right
 * is added up, and when that makes sure it is the other one: however long the
 * program has read in another way before. A look in which neither is better by
 * a quarter says nothing. What makes sure is what a row of pages costs that is
 * no chance (advice_sure of them, each a read of its own); twice that each time
 * that it has changed of late.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_MAPS_AROUND ((uintptr_t)64 << 10) /* ABI: the kernel, a touch */

enum fm_advice {
	FM_ADVICE_UNKNOWN, /* of what is said: by a parent process */
	FM_ADVICE_NORMAL,
	FM_ADVICE_RANDOM,
};

/* Touches here and there, pages in rows, of so many pieces. */
struct fm_touches {
	uint32_t single, pages, rows;
};

/* What the device takes, and what the kernel reads: ns, bytes. */
struct fm_advice_facts {
	uint64_t read_ns, page_ns; /* a read, and each page of it */
	uint64_t waste; /* bytes that MADV_NORMAL reads in vain for a single */
	bool fits;      /* what is touched does: then they are not in vain */
	uint64_t row_waste; /* bytes that it has read in vain for a piece */
};

/* ns. */
struct fm_costs_of {
	uint64_t normal, random;
};

/* What the touches of a look cost. */
struct fm_costs_of fm_advice_costs(const struct fm_touches *s,
				  const struct fm_advice_facts *f);
/* Of `bytes` read, `used` of which were touched, what each of so many reads has
 * brought in vain. */
uint64_t fm_advice_vain(uint64_t bytes, uint64_t used, uint64_t reads);
/* With MADV_RANDOM `read` of `pages` in rows were: the others were there. What
 * counts of s, which had that. */
struct fm_touches fm_advice_missed(struct fm_touches s, uint64_t read,
				   uint64_t pages);
/* What has to be lost until a change is sure. */
uint64_t fm_advice_sure(const struct fm_advice_facts *f);
/* How much more MADV_NORMAL costs; 0 where they hardly differ. */
int64_t fm_advice_more(const struct fm_costs_of *c);
/* Is it better to begin at MADV_RANDOM, where a touch here or there reads
 * f->waste in vain? By what the wrong one costs until it is seen. */
bool fm_advice_begins_random(const struct fm_advice_facts *f);

/* Of a range. */
struct fm_opinion {
	int64_t lean;  /* ns that MADV_NORMAL has lost; below 0: RANDOM */
	uint8_t says;  /* fm_advice; FM_ADVICE_UNKNOWN: too little is known */
	uint8_t wrong; /* times that it has changed of late */
	uint8_t quiet; /* seconds since anything was heard */
	uint8_t age;   /* seconds */
};

/* Between -most and most. */
int64_t fm_lean_add(int64_t lean, int64_t more, int64_t most);
/* The most of o. */
int64_t fm_opinion_most(const struct fm_opinion *o, uint64_t sure);
/* It leans so much now, and has heard of more or not. True: it says the other
 * one than before. */
bool fm_opinion_leans(struct fm_opinion *o, int64_t lean, bool heard,
		      uint64_t sure);
/* Do these speak against what it says? */
bool fm_advice_doubts(const struct fm_opinion *o, const struct fm_costs_of *c);
/* It says so from now on. */
void fm_opinion_says(struct fm_opinion *o, enum fm_advice says, uint64_t sure);
/* A second has passed: what was not heard of for some is not known any more,
 * and changes are forgiven in time. */
void fm_opinion_age(struct fm_opinion *o);

/* Does what is touched here and there fit into `left` bytes: so many touches in
 * segments that come to `touched` bytes, of which there are `segments`? When
 * nearly each touch was in a new one there will be more: `all` bytes, as where
 * there was none. */
bool fm_advice_fits(uint64_t touches, unsigned segments, uint64_t touched,
		   uint64_t all, uint64_t left);

/* The kernel maps in aligned pieces, up to 2 MiB: the next fault of a stream is
 * at the beginning of one, or, backward, in the last page of one. How far it
 * may be from the last one where such a piece begins or ends. */
uintptr_t fm_stream_reach(uintptr_t border);
