/* SPDX-License-Identifier: MIT */
/*
 * source.h - where it is known from what the program touches.
 *
 * A source belongs to the helper thread (helper.c), which asks it from time to
 * time. Samples (samples.c) know each fault, where perf events are allowed;
 * estimates (estimate.c) work everywhere and need no privilege. [plain]
 */
#pragma once

#include <stdint.h>

struct fm_advised_all;

/* A span that has been touched at about the same time, without large holes. */
typedef void (*fm_touch_fn)(struct fm_advised_all *all, uintptr_t start,
			    uintptr_t end);

struct fm_source {
	const char *name;
	int (*start)(void); /* 0, or -errno: not here */
	/* What has been touched since the last call. Returns of how much of
	 * the ranges it tells, in thousandths; 0: of nothing. */
	unsigned (*collect)(struct fm_advised_all *all, fm_touch_fn touched);
	/* Nothing is asked for a while: what was seen until now is old. */
	void (*rest)(void);
	/* What start has taken is given back. May be NULL. */
	void (*end)(void);
};

extern const struct fm_source fm_source_samples;
extern const struct fm_source fm_source_estimate;
