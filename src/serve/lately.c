/* SPDX-License-Identifier: MIT */
#include "lately.h"

#include "base/sys.h"
#include "tunables.h"

#define MOST 63u /* bits: that a word can be shifted by */

/* Between two halves a straight line is near enough. */
uint64_t fm_lately_ns(const struct fm_lately *l, uint64_t now_ms)
{
	const uint64_t half_ms = fm_tune.serve_settle_ms;
	const uint64_t age = now_ms - fm_least(atomic_load(&l->at_ms), now_ms);
	const uint64_t ns =
		atomic_load(&l->ns) >> fm_least(age / half_ms, MOST);

	return ns - ns / 2 * (age % half_ms) / half_ms;
}

void fm_lately_add(struct fm_lately *l, uint64_t now_ms, uint64_t ns)
{
	atomic_store(&l->ns, fm_lately_ns(l, now_ms) + ns);
	atomic_store(&l->at_ms, now_ms);
}

/* Added to often it falls by a half of that line: of all of a thread it is two
 * halves. */
uint32_t fm_lately_lost(const struct fm_lately *l, uint64_t now_ms)
{
	return (uint32_t)(fm_lately_ns(l, now_ms) / 2000 /
			  fm_tune.serve_settle_ms);
}

bool fm_lately_pays(const struct fm_lately *l, uint64_t now_ms)
{
	return fm_lately_ns(l, now_ms) >= fm_tune.serve_move_ns;
}
