/* SPDX-License-Identifier: MIT */
/*
 * waits.h - how long a thread waits for a page that the kernel reads.
 *
 * An unprivileged process is not told. But of threads that wait so long and so
 * often so many wait at a time (Little): at each look one of them is asked
 * whether it does. The helper thread's own. [plain]
 */
#pragma once

#include "advised.h"

struct fm_waits {
	unsigned turn, threads;
	uint64_t asked, waiting;
	uint64_t ms, major, bytes;
};

/* A look: use of the time since the last one. What is seen of some is told to
 * dev (io/device.h). */
void fm_waits_look(struct fm_waits *w, const struct fm_advised_use *use,
		   dev_t dev);
