/* SPDX-License-Identifier: MIT */
/* latency.h - how long faults take, from the signal to the return. */
#pragma once

#include <stdint.h>

#include "base/hist.h"

/* [fault] A fault has taken ns nanoseconds. */
void fm_latency_note(uint64_t ns);
/* [plain] All of them, up to now. */
void fm_latency_sum(struct fm_hist *ret);
/* [plain] Nanoseconds that all threads have spent in faults, up to 3.2 % too
 * many, and in how many faults. */
uint64_t fm_latency_spent(uint64_t *ret_faults);
