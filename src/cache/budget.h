/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how large the cache may be right now: what the policy says, what
 * the control groups leave, and less while memory is short.
 *
 * All [plain], under a lock of the caller's (mem_monitor.c). Sizes are bytes,
 * totals are pages and only grow, unless it says more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mem_monitor.h"

/* Growing totals of pages: evicted, of them those that came back, and how many
 * were evicted while each of these was gone, summed. */
struct fm_flow {
	uint64_t evicted, back, away;
};

struct fm_budget {
	uint64_t wanted;      /* policy or control socket, bytes */
	uint32_t percent;     /* of the limit; 0: wanted is fixed */
	uint32_t base;        /* where it began, its least; 0: fixed */
	uint64_t limit;       /* memory of this process, bytes */
	uint64_t now;         /* the result, bytes */
	uint64_t target;      /* what it is going to be if nothing changes */
	uint64_t room;        /* what others leave to the cache */
	uint64_t theirs_left; /* before what is set aside of it */
	uint64_t soon;        /* what it may grow to until the next look */
	uint64_t rate;        /* bytes a ms that others took at most, lately */
	uint64_t peak[2], peak_ms; /* of `all`, lately and before that */
	uint64_t late_ms;     /* that a look came too late at most, lately */
	uint64_t aged_ms;     /* when both were made less last */
	/* The last look: all that was not others', what of it was free. */
	uint64_t all, left, at_ms;
	unsigned pause_ms;    /* when to look again */
	bool rests;           /* nothing of ours has changed since */
	bool nothing;         /* is in the cache */
	/* At the last balance: pages that had come back, */
	uint64_t ours, theirs;
	uint64_t evicted;      /* and that had been evicted */
	uint32_t hungry;       /* balances in a row with too little */
	uint64_t most_lazy;   /* see fm_budget_lazy */
	uint32_t aside;       /* percent of all: others, and lazy pages */
	uint64_t stores;      /* to lazy pages, at the last balance */
	uint32_t calm;        /* balances without any */
	uint64_t firm, may;   /* see fm_budget_left, at the last balance */
	bool not_lazy;        /* most of what leaves cannot be */
	uint64_t least[2], turn_ms; /* of `all`, in this turn and the last */
	uint64_t lazy, idle;   /* bytes, at the last look */
	bool lacks;            /* more than the page cache does */
	bool grown;            /* room is all that it may be, or nearly */
	bool scarce;           /* others left too little, and may again */
	uint64_t scarce_ms;    /* when it was so last */
	uint64_t calm_ms;      /* so long it must not have been */
	struct fm_flow flow;   /* at the last balance */
	uint32_t loops;        /* balances in a row, see fm_budget_loops */
};

/* Start from what the policy says: `wanted` bytes, or `percent` of the limit
 * (0: wanted is fixed). */
void fm_budget_init(struct fm_budget *b, uint64_t wanted, uint32_t percent,
		    uint64_t limit);
/* Another size from now on: what is known of others stays. Until the next
 * fm_budget_room it is as if they left enough. */
void fm_budget_resize(struct fm_budget *b, uint64_t wanted, uint32_t percent);
/* The share may grow (fm_budget_balance). */
void fm_budget_auto(struct fm_budget *b);

/* What others leave differs by so much from one look to the next though nothing
 * has changed: the kernel counts pages by the batch. */
static inline uint64_t fm_budget_wobble(uint64_t bytes)
{
	return bytes / 64;
}

/* Once a second: the limit may have changed. Returns the new size. */
uint64_t fm_budget_step(struct fm_budget *b, uint64_t limit);

/* Every pause_ms, which this sets: `left` bytes can be had by whoever asks
 * first (fm_memory_left), `held` are the cache's. Our pages are anonymous, the
 * kernel cannot take them as it takes page cache; so what others need comes out
 * of the cache at once, and is given back by and by. Until the next look the
 * cache takes no more than half of what is free. Returns the new size. */
uint64_t fm_budget_room(struct fm_budget *b, uint64_t left, uint64_t held,
			uint64_t now_ms);

/* `free` bytes nobody has, not even page cache (fm_memory_free), `lazy` are
 * those of pages that the kernel may take whenever it wants to (lazyfree.h):
 * how many may be such. They take what is idle, the reserve for others with it,
 * and page cache only while pages of ours come back and its own do not, and it
 * has more than a 16th of the limit: the kernel then takes whichever was not
 * used for longest. Not more than fm_budget_most_lazy has allowed. */
uint64_t fm_budget_lazy(struct fm_budget *b, uint64_t lazy, uint64_t free);
void fm_budget_most_lazy(struct fm_budget *b, uint64_t bytes);

/* Before a look: it comes ms later than it was to. So will others, and more is
 * kept free for what may be taken meanwhile. */
void fm_budget_late(struct fm_budget *b, uint64_t ms);

/* Each budget_balance_ms: growing totals of pages that came back after they had
 * been evicted, from our cache and from the kernel's page cache. Whoever has
 * more of them lacks memory more (as Linux weighs anonymous memory against page
 * cache). Beyond its first share the cache does not grow into memory that
 * others had in the last half minute, nor into an eighth of the limit. `held`
 * bytes are in the cache. Returns the new size. */
uint64_t fm_budget_balance(struct fm_budget *b, uint64_t held, uint64_t ours,
			   uint64_t theirs);

/* After fm_budget_balance: total of lazy pages that were to be stored to. A
 * lazy page is as good as one of the cache only to who reads it: one that is
 * stored to was written for nothing, and may have to be loaded anew. */
void fm_budget_stores(struct fm_budget *b, uint64_t stores);

/* Before fm_budget_balance: growing totals of evicted pages that could not be
 * lazy, and that could. Where most could not, and pages come back, no more is
 * set aside for lazy ones than others need. */
void fm_budget_left(struct fm_budget *b, uint64_t firm, uint64_t may);

/* After fm_budget_balance: `evicted` is the total of pages evicted. True: for
 * half a second what others left has been too little for a cache that is used,
 * less than 1/16 of the limit. The kernel can make more of that, since page
 * cache needs no reserve. */
bool fm_budget_starves(struct fm_budget *b, uint64_t evicted);
/* After fm_budget_balance. For a while now nearly all that was evicted has come
 * back, and the pages in use, `held` bytes among them, fit into the memory that
 * there is and an eighth more, but not besides what must stay free. What is in
 * use is what is there, and what leaves before a page that has left comes back.
 * That is a guess, which hot pages make too small; FM_LOOPS_SURELY: all that is
 * mapped, `mapped` bytes, fits as well, but for a sixteenth. */
enum fm_loops fm_budget_loops(struct fm_budget *b, const struct fm_flow *flow,
		     uint64_t held, uint64_t mapped);
/* After fm_budget_room: others leave so little, ours included, that their next
 * burst may end the program. Half a second, as in fm_budget_starves, would be
 * too long. It stays true, after fm_budget_starves as well, until they have
 * left twice as much for calm_ms: what takes memory in bursts will take it
 * again. */
bool fm_budget_short(const struct fm_budget *b);
/* `left` bytes are what others leave: may an engine begin there? Not where it
 * would be too little for it at once, as fm_budget_short has it, nor where what
 * it takes besides its cache is more than a quarter. */
bool fm_budget_begins(uint64_t limit, uint64_t left);
/* After fm_budget_room: how many bytes of the cache may be dirty, so that
 * others find what they may take at once. */
uint64_t fm_budget_dirty(const struct fm_budget *b);
/* After fm_budget_room: `dirty` bytes of the `held` ones leave others so little
 * that they have to go at once, or keep the cache from becoming as small as it
 * is to be. */
bool fm_budget_drowns(const struct fm_budget *b, uint64_t held, uint64_t dirty);
/* Has anything been evicted since the last balance? */
bool fm_budget_used(const struct fm_budget *b, uint64_t evicted);
