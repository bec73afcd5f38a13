/* SPDX-License-Identifier: MIT */
#include "budget.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

/* Shrink when everybody stood still for more than a tenth of a second, grow
 * again after ten quiet ones; never below half. Our pages are anonymous: the
 * kernel cannot take them as it takes page cache, so we must give. */
#define STALL_US 100000u
#define QUIET_US 1000u
#define QUIET_SECONDS 10
#define LEAST_EIGHTHS 4

/* Less than all of the limit, whatever was asked for: the program, its stacks
 * and the kernel's own pages count as well. */
static uint64_t ceiling(const struct fm_budget *b)
{
	uint64_t most = b->limit - b->limit / 8, v = b->wanted;

	if (b->percent)
		v = b->limit / 100 * b->percent;
	return v < most ? v : most;
}

void fm_budget_init(struct fm_budget *b, uint64_t wanted, uint32_t percent,
		    uint64_t limit)
{
	*b = (struct fm_budget){
		.wanted = wanted,
		.percent = percent,
		.limit = limit,
		.eighths = 8,
	};
	b->now = ceiling(b);
}

static void feel_pressure(struct fm_budget *b, uint64_t stall)
{
	if (stall > STALL_US) {
		b->quiet = 0;
		if (b->eighths > LEAST_EIGHTHS)
			b->eighths--;
	} else if (stall > QUIET_US) {
		b->quiet = 0;
	} else if (++b->quiet >= QUIET_SECONDS && b->eighths < 8) {
		b->quiet = 0;
		b->eighths++;
	}
}

uint64_t fm_budget_step(struct fm_budget *b, uint64_t limit,
			uint64_t stalled_us)
{
	uint64_t stall = stalled_us - b->stalled_us;

	/* The first look has nothing to compare with. */
	if (b->stalled_us && stalled_us >= b->stalled_us)
		feel_pressure(b, stall);
	b->stalled_us = stalled_us;
	b->limit = limit;
	b->now = ceiling(b) / 8 * b->eighths;
	return b->now;
}

uint64_t fm_stalled_us(const char *root)
{
	char path[512], text[512];
	const char *p;
	uint64_t v = 0;

	if (fm_join(path, sizeof(path), root, "/proc/pressure/memory", "") ||
	    fm_read_small(path, text, sizeof(text)) <= 0)
		return 0;
	p = strstr(text, "full ");
	p = p ? strstr(p, "total=") : NULL;
	for (p = p ? p + 6 : ""; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}
