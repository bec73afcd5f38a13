/* SPDX-License-Identifier: MIT */
/*
 * trial.h - when the other server is tried, whether it was better, and when to
 * leave that alone. Nothing but arithmetic; mmap/judge.c and
 * mmap/engine_trial.c measure and act, the one where the kernel is tried, the
 * other where the engine is.
 *
 * It is tried when it was hoped, in each second of a row, that it would save a
 * quarter of what an access costs and more, and in all as much as two such
 * seconds: so one of a half will do; and threads lost a quarter of a thread's
 * time and more in each. It keeps the files when it was better (rate.h) in two
 * seconds in a row. They go back when it has not become so in the time that
 * filling its memory takes, or when it has read more than twice that; and when
 * it is worse than the other was for two seconds in a row.
 *
 * One that failed holds the next one up (hold.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hold.h"
#include "rate.h"

enum fm_trial_state { FM_TRIAL_NONE, FM_TRIAL_RUNS, FM_TRIAL_KEPT };

/* Of the server that a file, or all of them, does not have. */
struct fm_trial {
	enum fm_trial_state state;
	struct fm_rate before; /* with the other server */
	unsigned good, bad; /* seconds in a row */
	uint32_t hoped;     /* to be saved, of seconds in a row */
	struct fm_hold hold;
	uint64_t begun_ms, begun_bytes, room;
};

enum fm_trial_act {
	FM_TRIAL_NOTHING,
	FM_TRIAL_BEGIN, /* change the server */
	FM_TRIAL_KEEP,  /* it was better */
	FM_TRIAL_END,   /* change it back */
};

/* Which change it is: one for each way, both const. */
struct fm_trial_kind {
	bool of_engine;    /* the engine is tried, not the kernel */
	bool (*better)(const struct fm_rate *before, const struct fm_rate *now);
	bool (*worse)(const struct fm_rate *before, const struct fm_rate *now);
};

extern const struct fm_trial_kind fm_trial_of_kernel, fm_trial_of_engine;

/* A second has passed. */
struct fm_trial_second {
	uint64_t ms;         /* the time */
	uint64_t read_bytes; /* by the process, total */
	uint64_t room;       /* bytes that may have to be read first */
	struct fm_rate rate;
	/* thousandths of what an access costs that the other server may save;
	 * 0: it is not worth a change */
	uint32_t hope;
};

/* [plain] */
enum fm_trial_act fm_trial_step(const struct fm_trial_kind *k,
				struct fm_trial *t,
				const struct fm_trial_second *now);
/* [plain] It has begun, whoever said so; with what was before. */
void fm_trial_begun(struct fm_trial *t, const struct fm_trial_second *now,
		    const struct fm_rate *before);
/* [plain] It could not be begun. */
void fm_trial_refused(struct fm_trial *t, uint64_t now_ms);
/* [plain] A file that loses so much is to blame, where the one that loses most
 * loses `most`. What all lose says nothing: a database may be of a hundred
 * files that lose alike. */
bool fm_trial_to_blame(uint64_t lost, uint64_t most);
