/* SPDX-License-Identifier: MIT */
/*
 * demote_queue.h - files that another thread is to demote.
 *
 * A fault cannot take the space lock while it is asked for by others who wait
 * for pages, and a child of vfork must take no lock that it could die with. So
 * they ask, and a thread of ours does it: the one that writes back, woken for
 * it, or the timer, once a second. A request is a count in the file it is
 * about: it takes no memory, no other file displaces it, and it goes with the
 * file.
 */
#pragma once

#include "base/reason.h"
#include "base/up.h"
#include "server.h"

/* Also vm/demote.c. */
struct fm_file_demote {
	/* futex: one is under way, or to be */
	_Atomic uint32_t frozen;
	_Atomic uint32_t inside; /* faults, see fault/freeze.h */
	_Atomic uint32_t asked;    /* how often */
	_Atomic uint32_t answered; /* futex: up to which of these */
	_Atomic uint8_t why;       /* enum fm_server_reason */
	_Atomic uint64_t stays_since_ms; /* could not be demoted */
	/* threads that want it buffered for now: demote_pagecache.c */
	_Atomic uint32_t through;
	unsigned unreadable; /* windows of one page, see demote.c */
	/* its cause may pass, and then it comes back: promotable.h */
	bool passes;
	bool shut; /* all is closed but the path */
	bool adopted; /* the engine has never had it:
			 mmap/engine_trial.h */
	/* handed over for one who read what we stored to */
	bool read_beside;
};

/* [fault] Ask for f to be demoted. It wakes nobody, fm_wb_kick does. The caller
 * keeps f alive: by an epoch, a reference or the space lock. Returns what
 * fm_demote_wait wants. */
uint32_t fm_demote_ask(struct fm_file *f, enum fm_server_reason why);
/* [any] Wait until an attempt that began after fm_demote_ask has ended, for
 * ms milliseconds at most; not in an epoch, nor with a lock. False: it has
 * not, or no thread is left that could (fm_thread_any). fm_server_of says
 * how it ended. */
bool fm_demote_wait(struct fm_file *f, uint32_t asked, unsigned ms);
/* [any] Ask for every file to be demoted of which nothing is mapped
 * privately. */
void fm_demote_ask_shared(enum fm_server_reason why);

/* [plain] Carries requests out. */
FM_UPCALL(void, demote_queue, void);
/* [plain] By a thread of ours, without a lock: carry out what has been asked
 * for. */
void fm_demote_queue_serve(void);
/* [plain] In the child of fork. */
void fm_demote_queue_reset(void);

/* [plain] For who carries them out. The reason of
 * fm_demote_ask_shared, once, or FM_WHY_NONE. */
enum fm_server_reason fm_demote_take_shared(void);
/* [plain] Likewise: has any file been asked for? Once. */
bool fm_demote_take(void);
/* [plain] Likewise, under the space lock: call demote for each file that has
 * been asked for, and answer. */
void fm_demote_each(int (*demote)(struct fm_file *f,
				  enum fm_server_reason why));
