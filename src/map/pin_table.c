/* SPDX-License-Identifier: MIT */
#include "pin_table.h"

#include "base/life.h"
#include "base/pause.h"
#include "base/sys.h"
#include "engine.h"
#include "map.h"
#include "tunables.h"

#define BLOCK 256u
#define BLOCKS 256u /* BLOCK * BLOCKS: fm_pin.slot has 16 bits */

/* Blocks come when all slots are taken, and stay. blocks[0] is not used: what
 * has an address in it the loader fills in at each start. */
static struct fm_pin_slot first[BLOCK];
static _Atomic(struct fm_pin_slot *) blocks[BLOCKS];
static _Atomic uint32_t npins, top;

/* i is below top, or its block is known to be there. */
FM_FAULT struct fm_pin_slot *fm_pin_slot(uint32_t i)
{
	return i < BLOCK ? &first[i] :
			   &atomic_load(&blocks[i / BLOCK])[i % BLOCK];
}

enum kind { ANY, READY, INBOUND, INBOUND_READY };

static FM_FAULT bool is_kind(const struct fm_pin_slot *s, enum kind kind)
{
	return (kind == ANY || kind == READY || atomic_load(&s->in)) &&
	       (kind == ANY || kind == INBOUND || atomic_load(&s->ready));
}

static FM_FAULT bool pin_table_over(const struct fm_pin_slot *s,
				    const void *addr, size_t len)
{
	const uintptr_t a = (uintptr_t)addr;

	return atomic_load(&s->hi) > a && atomic_load(&s->lo) < a + len;
}

static FM_FAULT bool overlaps(const void *addr, size_t len, enum kind kind)
{
	if (!atomic_load(&npins))
		return false;
	for (uint32_t i = 0, n = atomic_load(&top); i < n; i++) {
		struct fm_pin_slot *s = fm_pin_slot(i);

		if (pin_table_over(s, addr, len) && is_kind(s, kind))
			return true;
	}
	return false;
}

FM_FAULT bool fm_pinned(const void *addr, size_t len)
{
	return overlaps(addr, len, ANY);
}

bool fm_pin_wait(const void *addr, size_t len)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);

	fm_fence();
	while (overlaps(addr, len, READY))
		if (fm_delivery() == FM_DELIVERY_THREAD || !fm_wait_on(&w))
			return false;
	return true;
}

FM_FAULT bool fm_pinned_in(const void *addr, size_t len)
{
	/* Handler threads resolve the kernel's own store to a protected page:
	 * it need not be spared. */
	if (fm_delivery() == FM_DELIVERY_THREAD)
		return false;
	return overlaps(addr, len, INBOUND);
}

FM_FAULT bool fm_pin_shut(struct fm_map *m, uint64_t i)
{
	uint8_t mode = fm_mode(m, i);

	/* In this order: see pin_table.h. */
	fm_mode_set(m, i, mode & (uint8_t)~PM_WRITABLE);
	fm_fence();
	if (fm_delivery() == FM_DELIVERY_THREAD ||
	    !overlaps(fm_map_addr(m, i), FM_PAGE, INBOUND_READY))
		return true;
	fm_mode_set(m, i, mode);
	return false;
}

/* A pin that is published later finds the page locked, or gone. */
FM_FAULT bool fm_pin_lets(const void *addr)
{
	const uint32_t n = atomic_load(&npins) ? atomic_load(&top) : 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct fm_pin_slot *s = fm_pin_slot(i);

		if (pin_table_over(s, addr, FM_PAGE) &&
		    atomic_load(&s->ready) && !atomic_load(&s->lets))
			return false;
	}
	for (uint32_t i = 0; i < n; i++)
		if (pin_table_over(fm_pin_slot(i), addr, FM_PAGE))
			atomic_store(&fm_pin_slot(i)->lost, 1);
	return true;
}

static void pin_table_reset(void)
{
	for (uint32_t i = 0; i < atomic_load(&top); i++) {
		atomic_store(&fm_pin_slot(i)->lo, 0);
		atomic_store(&fm_pin_slot(i)->hi, 0);
		atomic_store(&fm_pin_slot(i)->used, 0);
	}
	atomic_store(&npins, 0);
}

/* Is there a slot i, perhaps after a new block? */
static bool slot_exists(uint32_t i)
{
	struct fm_pin_slot *none = NULL, *b;

	if (i < BLOCK || atomic_load(&blocks[i / BLOCK]))
		return true;
	b = fm_sys_anon(BLOCK * sizeof(*b));
	if (!b)
		return false;
	if (!atomic_compare_exchange_strong(&blocks[i / BLOCK], &none, b))
		fm_sys_munmap(b, BLOCK * sizeof(*b));
	return true;
}

static bool pin_table_slot_take(uint32_t i)
{
	struct fm_pin_slot *s = fm_pin_slot(i);
	uint32_t t = atomic_load(&top);

	if (atomic_load(&s->used) || atomic_exchange(&s->used, 1))
		return false;
	while (t < i + 1 && !atomic_compare_exchange_weak(&top, &t, i + 1))
		;
	return true;
}

uint32_t fm_pin_slot_get(void)
{
	for (;;) {
		for (uint32_t i = 0; i < BLOCK * BLOCKS && slot_exists(i); i++)
			if (pin_table_slot_take(i))
				return i;
		fm_sys0(SYS_sched_yield);
	}
}

void fm_pin_slot_set(uint32_t i, uintptr_t lo, uintptr_t hi, bool in,
		     bool lets)
{
	struct fm_pin_slot *s = fm_pin_slot(i);

	atomic_store(&s->in, in);
	atomic_store(&s->lets, lets);
	atomic_store(&s->lost, 0);
	atomic_store(&s->ready, 0);
	atomic_store(&s->lo, lo);
	atomic_fetch_add(&npins, 1);
	atomic_store(&s->hi, hi);
}

bool fm_pin_slot_put(uint32_t i)
{
	struct fm_pin_slot *s = fm_pin_slot(i);
	const bool lost = atomic_load(&s->lost);

	atomic_store(&s->hi, 0);
	atomic_store(&s->lo, 0);
	atomic_fetch_sub(&npins, 1);
	atomic_store(&s->used, 0);
	return lost;
}

FM_LIFE(pin_table, .level = FM_LIFE_FAULTS, .reset = pin_table_reset)
