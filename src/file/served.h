/* SPDX-License-Identifier: MIT */
/*
 * served.h - for how long a file was served by whom, and the last changes.
 *
 * The time runs from a file's first mapping on, whether or not something of it
 * is mapped. It is kept for the statistics; nothing is decided by it.
 */
#pragma once

#include "base/reason.h"
#include "base/types.h"

/* Times in ms. */
enum fm_served_by {
	FM_BY_NOBODY, /* it is counted elsewhere */
	FM_BY_ENGINE,
	FM_BY_ADVISED, /* the kernel, with our advice */
	FM_BY_KERNEL,
	FM_BYS
};
#define FM_SERVED_CHANGES 10 /* the last ones */
struct fm_served {
	uint64_t ms[FM_BYS], since_ms, by_since_ms;
	uint8_t by;
	uint32_t changes; /* all told */
	struct fm_served_change {
		uint64_t at_ms;
		uint8_t from, to; /* enum fm_served_by */
		uint8_t why;      /* enum fm_server_reason */
		/* as of `choice` then */
		uint64_t cost_ns[2];
	} change[FM_SERVED_CHANGES]; /* a ring */
};

struct fm_file_stats {
	_Atomic uint64_t faults_read, faults_write, faults_wp;
	_Atomic uint64_t loads, load_bytes, hits_ahead, hits_alias,
		hits_standby, hits_kept, rewritten, lazy, lazy_lost;
	_Atomic uint64_t evictions, collapsed, writebacks, wb_bytes, wb_errors;
	_Atomic uint64_t ahead_pages, ahead_waste, ahead_refused, read_errors;
	_Atomic uint64_t mappings, demotions, promoted;
	_Atomic uint64_t engine_trials, engine_kept; /* mmap/engine_trial.h */
	_Atomic uint64_t spent_ns; /* by threads, in faults */
	_Atomic uint64_t unmapped_ns; /* of it: cache/unmapped.h */
	_Atomic uint64_t room_ns; /* of it: file/load.h, holes */
	/* by threads, until what was stored was written: peers_words.c */
	_Atomic uint64_t words_ns;
	_Atomic uint8_t demote_why; /* enum fm_server_reason */
	struct fm_served served;
};

/* [any] Who serves it where the engine does not, by its policy. */
enum fm_served_by fm_served_beside_engine(const struct fm_policy *p);
/* [any] From now on it is `by` that serves the file. */
void fm_served_begin(struct fm_served *s, enum fm_served_by by,
		     enum fm_server_reason why);
/* [any] The same of a file that we know: what each server costs is noted. */
void fm_served_file(struct fm_file *f, enum fm_served_by by,
		    enum fm_server_reason why);
/* [any] Add the times of `from` until now to those of `to`. */
void fm_served_add(struct fm_served *to, const struct fm_served *from);
/* [any] A copy, with the times until now. */
void fm_served_read(const struct fm_served *s, struct fm_served *ret);
/* [plain] "engine", "advised", "kernel". */
const char *fm_served_text(enum fm_served_by by);
/* [plain] In the guardian: who held the lock is dead. */
void fm_served_unlock(void);
