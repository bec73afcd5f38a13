/* SPDX-License-Identifier: MIT */
/*
 * lock_check.h - the lock order, and its assertion in debug builds (meson
 * option lock_check; without it nothing of this is compiled).
 *
 * Each class of locks has a rank. Who waits for one must hold none of the same
 * or a later rank; a try-lock may be had in any order, but counts as held.
 * Several pages at once: each that is waited for comes later in its file, or
 * in a later file. The thread that breaks this aborts with one line, whether
 * or not somebody else was in its way.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The order, outermost first. */
enum fm_rank {
	FM_RANK_TABLE = 0, /* a lock without FM_LOCK(rank): see below */
	FM_RANK_HEAR,      /* what other processes did, read and heeded */
	FM_RANK_CHANGE,    /* shim: one change of a file's size at a time */
	FM_RANK_SETTINGS,  /* one change of the settings at a time */
	FM_RANK_SPACE,
	FM_RANK_STREAM,    /* readahead's notes on a mapping */
	FM_RANK_PAGE,      /* FP_BUSY, and waiting for FP_WB */
	FM_RANK_BOUNCE,    /* a bounce buffer */
	FM_RANK_RING,      /* a ring of the pool */
	FM_RANK_WITNESS,   /* of a file, file/witness.h */
	FM_RANK_HOME,      /* the home ring */
	FM_RANK_METRICS,   /* writing the file of metrics */
	FM_RANK_REPORT,    /* putting statistics together */
	FM_RANK_UNSERVED,   /* files left to the kernel; is one served? */
	FM_RANK_OF_TABLES, /* tables and lists, short sections */
	FM_RANK_LOST,      /* finding a lost descriptor */
	FM_RANK_ALLOC,     /* the allocator */
	FM_RANK_SIGNAL,    /* shim: the disposition of SIGBUS, around fork */
	FM_RANK_LEAF,      /* what is taken inside all of these */
	FM_RANKS
};

#ifdef FM_LOCK_CHECK

/* Addresses name single locks. [fault] */
void fm_check_ask(const void *lock, enum fm_rank rank);
void fm_check_got(const void *lock, enum fm_rank rank);
void fm_check_put(const void *lock);
void fm_check_page_ask(const _Atomic uint8_t *page);
void fm_check_page_got(const _Atomic uint8_t *page);
void fm_check_page_put(const _Atomic uint8_t *page);

#else

#define fm_check_ask(lock, rank) ((void)0)
#define fm_check_got(lock, rank) ((void)0)
#define fm_check_put(lock) ((void)0)
#define fm_check_page_ask(page) ((void)0)
#define fm_check_page_got(page) ((void)0)
#define fm_check_page_put(page) ((void)0)

#endif
