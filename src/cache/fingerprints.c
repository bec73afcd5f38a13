/* SPDX-License-Identifier: MIT */
#include "fingerprints.h"

#include <errno.h>
#include <stdbool.h>

#include "base/sys.h"
#include "base/types.h"
#include "cache.h"

#define LEAST 1024u /* size: slots */
#define WAYS 4u     /* size: slots where one may be: with one alone, of as many
		     * as there are slots a third is written over at once */

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

/* Where h may be: WAYS slots, or NULL. */
static FM_FAULT _Atomic uint32_t *ways_of(struct fm_fingerprints *t, uint64_t h)
{
	_Atomic uint32_t *slots = atomic_load(&t->slots);

	return slots ? &slots[(h >> 20) & t->mask & ~(uint64_t)(WAYS - 1)] :
		       NULL;
}

static FM_FAULT uint32_t load_slot(_Atomic uint32_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

/* Of what is in a slot at this time; of an empty one more than of any. */
static FM_FAULT uint32_t word_age(uint32_t word, uint32_t at)
{
	return word ? (at - (word & 0xffff)) & 0xffff : UINT32_MAX;
}

static FM_FAULT bool word_is(uint32_t word, uint64_t h)
{
	return word && word >> 16 == (uint32_t)(h >> 48);
}

/* The slot that has h, or NULL. */
static FM_FAULT _Atomic uint32_t *fingerprint_at(struct fm_fingerprints *t,
						 uint64_t h)
{
	_Atomic uint32_t *p = ways_of(t, h);

	for (unsigned i = 0; p && i < WAYS; i++)
		if (word_is(load_slot(&p[i]), h))
			return &p[i];
	return NULL;
}

/* The slot for h: its own, an empty one, or what is oldest. */
static FM_FAULT _Atomic uint32_t *slot_for(struct fm_fingerprints *t,
					   uint64_t h, uint32_t at)
{
	_Atomic uint32_t *p = ways_of(t, h), *to = fingerprint_at(t, h);

	if (to)
		return to;
	to = p;
	for (unsigned i = 1; i < WAYS; i++)
		if (word_age(load_slot(&p[i]), at) >
		    word_age(load_slot(to), at))
			to = &p[i];
	return to;
}

FM_FAULT void fm_fingerprints_add(struct fm_fingerprints *t, uint64_t h,
				  uint32_t at)
{
	atomic_store_explicit(slot_for(t, h, at),
			      (uint32_t)(h >> 48) << 16 | at,
			      memory_order_relaxed);
}

FM_FAULT int fm_fingerprints_age(struct fm_fingerprints *t, uint64_t h,
				 uint32_t at)
{
	_Atomic uint32_t *p = fingerprint_at(t, h);
	const uint32_t age = p ? word_age(load_slot(p), at) : UINT32_MAX;

	return age <= FM_CACHE_PARTS ? (int)age : -1;
}

FM_FAULT void fm_fingerprints_forget(struct fm_fingerprints *t, uint64_t h)
{
	_Atomic uint32_t *p = fingerprint_at(t, h);

	if (p)
		atomic_store_explicit(p, 0, memory_order_relaxed);
}
