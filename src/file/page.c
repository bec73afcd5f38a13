/* SPDX-License-Identifier: MIT */
#include "page.h"

struct fm_wait_bucket fm_wait_buckets[FM_WAIT_BUCKETS];

FM_FAULT void fm_page_sleep(_Atomic uint8_t *p, uint8_t mask)
{
	struct fm_wait_bucket *b = fm_bucket(p);

	for (int i = 0; i < 60; i++) {
		if (!(atomic_load(p) & mask))
			return;
		fm_cpu_relax();
	}
	atomic_fetch_add(&b->sleepers, 1);
	for (;;) {
		uint32_t seq = atomic_load(&b->seq);

		if (!(atomic_load(p) & mask))
			break;
		fm_futex_wait(&b->seq, seq, NULL);
	}
	atomic_fetch_sub(&b->sleepers, 1);
}

FM_FAULT void fm_page_wake(_Atomic uint8_t *p)
{
	struct fm_wait_bucket *b = fm_bucket(p);

	atomic_fetch_add(&b->seq, 1);
	fm_futex_wake(&b->seq, 1 << 30);
}
