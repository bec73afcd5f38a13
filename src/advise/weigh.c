/* SPDX-License-Identifier: MIT */
#include "weigh.h"

#include "base/sys.h"
#include "base/types.h"
#include "tunables.h"

/* A fault in a stream that the kernel reads ahead maps in so many. */
#define AROUND 16 /* ABI: pages, by a fault in a stream that is read ahead */
#define AROUND_BYTES ((uint64_t)AROUND << FM_PAGE_SHIFT)
/* A single touch reads this much at least that is used or does not matter: a
 * stride of 64 KiB uses all that it reads. */
#define USED (AROUND_BYTES + AROUND_BYTES / 4) /* unit: of a touch */

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
	return p->single + p->pages / AROUND >= fm_tune.weigh_enough;
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
	return !p->pages && p->single >= fm_tune.weigh_few &&
	       waste >= fm_tune.weigh_much;
}

bool fm_weigh_changed(unsigned singles, uint64_t bytes, uint64_t faults)
{
	return singles > fm_tune.weigh_few && faults &&
	       bytes / faults >= fm_tune.weigh_much;
}

bool fm_weigh_looked(const struct fm_pattern *look)
{
	return look->single + look->pages / AROUND >= fm_tune.weigh_sure;
}

bool fm_weigh_look(const struct fm_pattern *look, uint64_t bytes,
		   uint64_t faults)
{
	return look->single >= fm_tune.weigh_sure &&
	       look->single * fm_weigh_waste(look, bytes, faults) *
			       fm_tune.weigh_byte_ns >
		       (uint64_t)fm_tune.weigh_surely * look->pages *
			       fm_tune.weigh_read_ns;
}

enum fm_advice fm_weigh(const struct fm_pattern *p, enum fm_advice now,
			uint64_t waste, bool fits)
{
	const uint64_t normal = p->single * waste * fm_tune.weigh_byte_ns;
	const uint64_t random = (uint64_t)p->pages * fm_tune.weigh_read_ns;

	if (fits || !(fm_pattern_tells(p) || shouts(p, waste)))
		return fits ? FM_ADVICE_NORMAL : now;
	if (normal > fm_tune.weigh_clearly * random)
		return FM_ADVICE_RANDOM;
	if (random > fm_tune.weigh_clearly * normal)
		return FM_ADVICE_NORMAL;
	return now;
}

bool fm_weigh_fits(uint64_t touches, unsigned segments, uint64_t touched,
		   uint64_t all, const struct fm_weigh_memory *m,
		   enum fm_advice now)
{
	const uint64_t need = touches < 2 * segments ? all : touched;
	unsigned part = m->read > need + need / 2 ? fm_tune.weigh_again :
						    fm_tune.weigh_once;

	/* Nothing swings. */
	if (now == FM_ADVICE_RANDOM)
		part = fm_tune.weigh_back;
	return need < m->left - m->left / part;
}
