/* SPDX-License-Identifier: MIT */
#include "pin.h"

#include "base/epoch.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "file/page.h"
#include "map/map.h"
#include "map/space.h"

#define PATIENCE 2000 /* times 0.1 ms */
#define BLOCK 256u
#define BLOCKS 256u /* BLOCK * BLOCKS: fm_pin.slot has 16 bits */

struct slot {
	_Atomic uint32_t used;
	_Atomic uint16_t in, ready; /* ready: its pages are there */
	_Atomic uintptr_t lo, hi;
	char pad[FM_CACHELINE - 24];
};

/* Blocks come when all slots are taken, and stay. */
static struct slot first[BLOCK];
static _Atomic(struct slot *) blocks[BLOCKS] = { first };
static _Atomic uint32_t npins, top;

/* i is below top, or its block is known to be there. */
static FM_FAULT struct slot *slot_at(uint32_t i)
{
	return &atomic_load(&blocks[i / BLOCK])[i % BLOCK];
}

enum kind { ANY, READY, INBOUND, INBOUND_READY };

static FM_FAULT bool is_kind(const struct slot *s, enum kind kind)
{
	return (kind == ANY || kind == READY || atomic_load(&s->in)) &&
	       (kind == ANY || kind == INBOUND || atomic_load(&s->ready));
}

static FM_FAULT bool overlaps(const void *addr, size_t len, enum kind kind)
{
	uintptr_t a = (uintptr_t)addr;

	if (!atomic_load(&npins))
		return false;
	for (uint32_t i = 0, n = atomic_load(&top); i < n; i++) {
		struct slot *s = slot_at(i);

		if (atomic_load(&s->hi) > a && atomic_load(&s->lo) < a + len &&
		    is_kind(s, kind))
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
	const struct timespec pause = { 0, 100000 };

	fm_fence();
	for (int waits = 0; overlaps(addr, len, READY); waits++) {
		if (waits == PATIENCE || fm_delivery() == FM_DELIVERY_THREAD)
			return false;
		fm_sys_sleep(&pause);
	}
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

	/* In this order: see pin.h. */
	fm_mode_set(m, i, mode & (uint8_t)~PM_WRITABLE);
	fm_fence();
	if (fm_delivery() == FM_DELIVERY_THREAD ||
	    !overlaps(fm_map_addr(m, i), FM_PAGE, INBOUND_READY))
		return true;
	fm_mode_set(m, i, mode);
	return false;
}

void fm_pins_reset(void)
{
	for (uint32_t i = 0; i < atomic_load(&top); i++) {
		atomic_store(&slot_at(i)->lo, 0);
		atomic_store(&slot_at(i)->hi, 0);
		atomic_store(&slot_at(i)->used, 0);
	}
	atomic_store(&npins, 0);
}

size_t fm_pin_limit(void)
{
	uint64_t bytes = (fm_cache_limit() << FM_PAGE_SHIFT) / 8;

	if (bytes < FM_PAGE)
		bytes = FM_PAGE;
	return bytes > FM_PIN_MAX ? FM_PIN_MAX : bytes & ~FM_PAGE_MASK;
}

/* Is there a slot i, perhaps after a new block? */
static bool slot_exists(uint32_t i)
{
	struct slot *none = NULL, *b;

	if (atomic_load(&blocks[i / BLOCK]))
		return true;
	b = fm_sys_anon(BLOCK * sizeof(*b));
	if (!b)
		return false;
	if (!atomic_compare_exchange_strong(&blocks[i / BLOCK], &none, b))
		fm_sys_munmap(b, BLOCK * sizeof(*b));
	return true;
}

static bool slot_take(uint32_t i)
{
	struct slot *s = slot_at(i);
	uint32_t t = atomic_load(&top);

	if (atomic_load(&s->used) || atomic_exchange(&s->used, 1))
		return false;
	while (t < i + 1 && !atomic_compare_exchange_weak(&top, &t, i + 1))
		;
	return true;
}

static uint32_t slot_get(void)
{
	for (;;) {
		for (uint32_t i = 0; i < BLOCK * BLOCKS && slot_exists(i); i++)
			if (slot_take(i))
				return i;
		fm_sys0(SYS_sched_yield);
	}
}

static void slot_put(uint32_t i)
{
	struct slot *s = slot_at(i);

	atomic_store(&s->hi, 0);
	atomic_store(&s->lo, 0);
	atomic_fetch_sub(&npins, 1);
	atomic_store(&s->used, 0);
}

enum state { ABSENT, SETTLED, FORBIDDEN };

/* The kernel would refuse the access whatever is resident. */
static bool forbids(struct fm_map *m, bool in)
{
	return in ? !(atomic_load(&m->prot) & PROT_WRITE)
		  : atomic_load(&m->prot) == PROT_NONE;
}

/* Resident and usable right now, with nobody working on it? */
static enum state settled(uintptr_t a, bool in)
{
	unsigned e = fm_epoch_enter();
	uint32_t before = fm_space_shown();
	struct fm_map *m = fm_space_find(a);
	enum state ok = SETTLED;

	if (m && forbids(m, in)) {
		ok = FORBIDDEN;
	} else if (m) {
		uint64_t i = (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
		uint8_t need = PM_PRESENT | (in ? PM_WRITABLE : 0);

		ok = p && (fm_mode(m, i) & (need | PM_LAZY)) == need &&
		     !(atomic_load(p) & FP_BUSY) &&
		     (fm_mode(m, i) & (need | PM_LAZY)) == need
			     ? SETTLED
			     : ABSENT;
	} else if (fm_space_hides(a, a + 1) || fm_space_shown() != before) {
		ok = ABSENT; /* another takes its place */
	}
	fm_epoch_leave(e);
	return ok;
}

#define TRIES 8

/* Bring every page of [a, end) in; returns where it had to stop, or 0: another pin of
 * this thread may be in the way of one that is in its. */
static uintptr_t settle(uintptr_t a, uintptr_t end, bool in, bool first)
{
	int tries = 0;

	while (a < end) {
		enum state now = settled(a, in);

		if (now == FORBIDDEN)
			return a;
		if (now == SETTLED) {
			a = (a & ~FM_PAGE_MASK) + FM_PAGE;
			tries = 0;
			continue;
		}
		if (!first && tries++ == TRIES)
			return 0;
		if (fm_fault((void *)a, in) > FM_FAULT_RETRY &&
		    fm_overlaps((void *)a, 1))
			return a;
	}
	return end;
}

static bool all_settled(uintptr_t a, uintptr_t end, bool in)
{
	for (; a < end; a = (a & ~FM_PAGE_MASK) + FM_PAGE)
		if (settled(a, in) == ABSENT)
			return false;
	return true;
}

/* While it waits for a page a pin holds nobody up who drops pages, hands the file over,
 * or puts another mapping there; who does has locked the page, taken its permission or
 * hidden it first, and looks at `ready` then: all is looked at once more after it. */
static uintptr_t settle_pin(struct slot *s, uintptr_t a, uintptr_t end, bool in,
			    bool first)
{
	uintptr_t got;

	for (;;) {
		got = settle(a, end, in, first);
		if (!got)
			return got;
		atomic_store(&s->ready, 1);
		if (all_settled(a, got, in))
			return got;
		atomic_store(&s->ready, 0);
	}
}

/* ---- the same pages twice ------------------------------------------------- */

/* What lies together in one mapping from a on. */
struct view {
	const struct fm_file *file; /* or NULL: a page that is not ours */
	uintptr_t a, end;
	uint64_t off; /* bytes, in the file */
};

static struct view view_at(uintptr_t a, uintptr_t end)
{
	struct fm_map *m = fm_space_find(a);
	uintptr_t next = (a & ~FM_PAGE_MASK) + FM_PAGE;
	struct view v = { NULL, a, next < end ? next : end, 0 };

	if (!m || !m->shared)
		return v;
	v.file = m->file;
	v.off = (m->pgoff << FM_PAGE_SHIFT) + (a - atomic_load(&m->start));
	next = atomic_load(&m->end);
	v.end = next < end ? next : end;
	return v;
}

static bool meet(struct view v, struct view w)
{
	return v.file == w.file && v.off < w.off + (w.end - w.a) &&
	       w.off < v.off + (v.end - v.a) && v.off - v.a != w.off - w.a;
}

static bool meets_any(struct view v, const struct slot *s)
{
	uintptr_t end = atomic_load(&s->hi);
	struct view w = { .end = atomic_load(&s->lo) };

	while (w.end < end) {
		w = view_at(w.end, end);
		if (w.file && meet(v, w))
			return true;
	}
	return false;
}

/* The range's file pages, in another mapping, are among those that the thread has
 * already: to store to one view takes the other's permission away. */
static bool is_second_view(const struct fm_pin *pin, uintptr_t a, uintptr_t end,
			   bool in)
{
	unsigned e = fm_epoch_enter();
	struct view v = { .end = a & ~FM_PAGE_MASK };
	bool found = false;

	while (v.end < end && !found) {
		v = view_at(v.end, end);
		for (unsigned k = 0; v.file && k < pin->n && !found; k++) {
			const struct slot *s = slot_at(pin->slot[k]);

			found = (in || atomic_load(&s->in)) && meets_any(v, s);
		}
	}
	fm_epoch_leave(e);
	return found;
}

ssize_t fm_pin(struct fm_pin *pin, const void *buf, size_t len, bool in)
{
	uintptr_t a = (uintptr_t)buf, got;
	struct slot *s;
	uint64_t old;
	uint32_t i;

	if (!len || !fm_overlaps(buf, len))
		return (ssize_t)len;
	if (pin->n >= FM_PINS)
		return -E2BIG;
	if (pin->n && is_second_view(pin, a, a + len, in))
		return -EBUSY;
	fm_block_signals(&old);
	i = slot_get();
	s = slot_at(i);
	atomic_store(&s->in, in);
	atomic_store(&s->ready, 0);
	atomic_store(&s->lo, a & ~FM_PAGE_MASK);
	atomic_fetch_add(&npins, 1);
	atomic_store(&s->hi, a + len);
	pin->slot[pin->n++] = (uint16_t)i;
	got = settle_pin(s, a, a + len, in, pin->n == 1);
	if (!got)
		slot_put(pin->slot[--pin->n]);
	fm_restore_signals(&old);
	return got ? (ssize_t)(got - a) : -EBUSY;
}

void fm_unpin(struct fm_pin *pin)
{
	while (pin->n)
		slot_put(pin->slot[--pin->n]);
}
