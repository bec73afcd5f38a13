/* SPDX-License-Identifier: MIT */
#include "again.h"

static void add_since(struct fm_lately *l, uint64_t *seen, uint64_t ns,
		      uint64_t now_ms)
{
	fm_lately_add(l, now_ms, ns - *seen);
	*seen = ns;
}

bool fm_again_pays(struct fm_again *a, uint64_t spent_ns, uint64_t again_ns,
		   uint64_t move_ns, uint64_t now_ms)
{
	uint64_t again;

	add_since(&a->spent, &a->spent_seen_ns, spent_ns, now_ms);
	add_since(&a->again, &a->again_seen_ns, again_ns, now_ms);
	again = fm_lately_ns(&a->again, now_ms);
	return again >= move_ns &&
	       again >= fm_lately_ns(&a->spent, now_ms) / 4;
}

uint32_t fm_again_lost(const struct fm_again *a, uint64_t now_ms)
{
	return fm_lately_lost(&a->again, now_ms);
}
