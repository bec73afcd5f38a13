/* SPDX-License-Identifier: MIT */
#include "shrinker.h"

#include "sys.h"

static _Atomic(struct fm_shrinker *) first; /* by order; only ever longer */

void fm_shrinker_add(struct fm_shrinker *s)
{
	_Atomic(struct fm_shrinker *) *at = &first;
	struct fm_shrinker *next = atomic_load(at);

	for (;;) {
		while (next && next != s && next->order <= s->order) {
			at = &next->next;
			next = atomic_load(at);
		}
		if (next == s)
			return;
		atomic_store(&s->next, next);
		if (atomic_compare_exchange_strong(at, &next, s))
			return;
	}
}

FM_FAULT uint64_t fm_shrink_cached(uint64_t want)
{
	struct fm_shrinker *s = atomic_load(&first);
	uint64_t n = 0;

	for (; s && n < want; s = atomic_load(&s->next))
		if (s->fault_safe)
			n += s->trim(want - n);
	return n;
}

void fm_shrink_idle(void)
{
	struct fm_shrinker *s = atomic_load(&first);

	for (; s; s = atomic_load(&s->next))
		if (!s->fault_safe)
			s->trim(UINT64_MAX);
}
