/* SPDX-License-Identifier: MIT */
#include "weigh.h"

#include "base/sys.h"
#include "base/types.h"

#define ENOUGH 8  /* single touches, or as many faults of a stream */
#define FEW 3     /* single ones are enough, if they cost */
#define SURE 32   /* that many in a look speak for themselves, */
#define SURELY 4  /* where they cost so many times more */

/* A fault in a stream that the kernel reads ahead maps in so many. */
#define AROUND 16
#define AROUND_BYTES ((uint64_t)AROUND << FM_PAGE_SHIFT)
/* A single touch reads this much at least that is used or does not matter: a
 * stride of 64 KiB uses all that it reads. */
#define USED (AROUND_BYTES + AROUND_BYTES / 4)

/* Nanoseconds. Of a device that moves 1 GB/s and answers in 60 us; with a
 * slower one both are more. */
#define PER_BYTE 1
#define PER_READ 60000
#define CLEARLY 2 /* times better: then it is changed */

/* That part of memory stays free of what fits: as long as nothing says that it
 * does not, where it is read again, and where it did not fit. */
#define ONCE 64
#define AGAIN 8
#define BACK 4

uintptr_t fm_stream_reach(uintptr_t border)
{
	const uintptr_t piece = border & -border;

	return piece < AROUND_BYTES ? AROUND_BYTES :
	       piece < FM_HUGE ? piece : FM_HUGE;
}

void fm_pattern_single(struct fm_pattern *p, uint32_t now_s)
{
	p->single++;
	p->seen_s = now_s;
}

void fm_pattern_row(struct fm_pattern *p, uint64_t pages)
{
	p->pages += (uint32_t)fm_least(pages, UINT32_MAX / 4);
}

void fm_pattern_age(struct fm_pattern *p)
{
	p->single /= 2;
	p->pages /= 2;
}

bool fm_pattern_tells(const struct fm_pattern *p)
{
	return p->single + p->pages / AROUND >= ENOUGH;
}

uint64_t fm_weigh_waste(const struct fm_pattern *p, uint64_t bytes,
			uint64_t faults)
{
	const uint64_t streams = p->pages / AROUND, all = p->single + streams;
	uint64_t by_streams, singles;

	if (!p->single || !faults)
		return 0;
	singles = faults * p->single / all;
	by_streams = (faults - singles) * AROUND_BYTES;
	if (!singles || bytes <= by_streams)
		return 0;
	bytes = (bytes - by_streams) / singles;
	return bytes > USED ? bytes - AROUND_BYTES : 0;
}

/* Where each one costs milliseconds, few are enough. */
static bool shouts(const struct fm_pattern *p, uint64_t waste)
{
	return !p->pages && p->single >= FEW && waste >= FM_MUCH;
}

bool fm_weigh_changed(unsigned singles, uint64_t bytes, uint64_t faults)
{
	return singles > FEW && faults && bytes / faults >= FM_MUCH;
}

bool fm_weigh_looked(const struct fm_pattern *look)
{
	return look->single + look->pages / AROUND >= SURE;
}

bool fm_weigh_look(const struct fm_pattern *look, uint64_t bytes,
		   uint64_t faults)
{
	return look->single >= SURE &&
	       look->single * fm_weigh_waste(look, bytes, faults) * PER_BYTE >
		       (uint64_t)SURELY * look->pages * PER_READ;
}

enum fm_advice fm_weigh(const struct fm_pattern *p, enum fm_advice now,
			uint64_t waste, bool fits)
{
	const uint64_t normal = p->single * waste * PER_BYTE;
	const uint64_t random = (uint64_t)p->pages * PER_READ;

	if (fits || !(fm_pattern_tells(p) || shouts(p, waste)))
		return fits ? FM_ADVICE_NORMAL : now;
	if (normal > CLEARLY * random)
		return FM_ADVICE_RANDOM;
	if (random > CLEARLY * normal)
		return FM_ADVICE_NORMAL;
	return now;
}

bool fm_weigh_fits(uint64_t touches, unsigned segments, uint64_t touched,
		   uint64_t all, const struct fm_weigh_memory *m,
		   enum fm_advice now)
{
	const uint64_t need = touches < 2 * segments ? all : touched;
	unsigned part = m->read > need + need / 2 ? AGAIN : ONCE;

	/* Nothing swings. */
	if (now == FM_ADVICE_RANDOM)
		part = BACK;
	return need < m->left - m->left / part;
}
