/* SPDX-License-Identifier: MIT */
#include "fingerprints.h"

#include <errno.h>
#include <stdbool.h>

#include "base/sys.h"
#include "base/types.h"
#include "cache.h"

#define LEAST 1024u /* size: slots */

int fm_fingerprints_start(struct fm_fingerprints *t, uint64_t pages)
{
	_Atomic uint32_t *slots;
	uint64_t n = LEAST;

	if (atomic_load(&t->slots))
		return 0;
	while (n < pages)
		n *= 2;
	slots = fm_sys_anon(n * sizeof(*slots));
	t->mask = n - 1;
	atomic_store(&t->slots, slots);
	return slots ? 0 : -ENOMEM;
}

FM_FAULT uint64_t fm_fingerprints_part(void)
{
	return fm_cache_limit() / FM_CACHE_PARTS + 1;
}

FM_FAULT uint32_t fm_fingerprints_time(uint64_t evicted)
{
	return (uint32_t)(evicted / fm_fingerprints_part()) & 0xffff;
}

static FM_FAULT _Atomic uint32_t *fingerprint_at(struct fm_fingerprints *t,
						 uint64_t h)
{
	_Atomic uint32_t *slots = atomic_load(&t->slots);

	return slots ? &slots[(h >> 20) & t->mask] : NULL;
}

FM_FAULT void fm_fingerprints_add(struct fm_fingerprints *t, uint64_t h,
				  uint32_t at)
{
	atomic_store_explicit(fingerprint_at(t, h),
			      (uint32_t)(h >> 48) << 16 | at,
			      memory_order_relaxed);
}

FM_FAULT int fm_fingerprints_age(struct fm_fingerprints *t, uint64_t h,
				 uint32_t at)
{
	_Atomic uint32_t *p = fingerprint_at(t, h);
	const uint32_t g =
		p ? atomic_load_explicit(p, memory_order_relaxed) : 0;
	const uint32_t age = (at - (g & 0xffff)) & 0xffff;
	const bool known = g && g >> 16 == (uint32_t)(h >> 48);

	return known && age <= FM_CACHE_PARTS ? (int)age : -1;
}

FM_FAULT void fm_fingerprints_forget(struct fm_fingerprints *t, uint64_t h)
{
	atomic_store_explicit(fingerprint_at(t, h), 0, memory_order_relaxed);
}
