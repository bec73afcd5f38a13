/* SPDX-License-Identifier: MIT */
/*
 * lately.h - time of threads that something took of late: what is two seconds
 * old counts half. Nothing but arithmetic.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fm_lately {
	_Atomic uint64_t ns, at_ms;
};

/* [any] Two threads at once may lose a little of it. */
void fm_lately_add(struct fm_lately *l, uint64_t now_ms, uint64_t ns);
/* [any] What of it counts, in ns. */
uint64_t fm_lately_ns(const struct fm_lately *l, uint64_t now_ms);
/* [any] Of what the other server would not cost at all: is it as much as to
 * change the server? Who changes then has paid twice what was to be paid, at
 * most. */
bool fm_lately_pays(const struct fm_lately *l, uint64_t now_ms);
/* [any] Thousandths of a thread, if it goes on so. */
uint32_t fm_lately_lost(const struct fm_lately *l, uint64_t now_ms);
