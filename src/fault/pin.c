/* SPDX-License-Identifier: MIT */
/* pin.c - a system call's memory is there, and stays (map/pin_table.h). */
#include "base/epoch.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"

size_t fm_pin_limit(void)
{
	uint64_t bytes = (fm_cache_limit() << FM_PAGE_SHIFT) / 8;

	if (bytes < FM_PAGE)
		bytes = FM_PAGE;
	return bytes > FM_PIN_MAX ? FM_PIN_MAX : bytes & ~FM_PAGE_MASK;
}

enum state { ABSENT, SETTLED, FORBIDDEN };

/* The kernel would refuse the access whatever is resident. */
static bool forbids(struct fm_map *m, bool in)
{
	return in ? !(atomic_load(&m->prot) & PROT_WRITE)
		  : atomic_load(&m->prot) == PROT_NONE;
}

/* Resident and usable right now, with nobody working on it? */
static enum state pin_settled(uintptr_t a, bool in)
{
	FM_IN_EPOCH();
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
	return ok;
}

bool fm_pin_forbidden(const void *p, bool in)
{
	FM_IN_EPOCH();
	struct fm_map *m = fm_space_find((uintptr_t)p);
	bool yes = m && forbids(m, in);

	return yes;
}

/* Bring every page of [a, end) in; returns where it had to stop, or 0: another
 * pin of this thread may be in the way of one that is in its. */
static uintptr_t bring_in(uintptr_t a, uintptr_t end, bool in, bool first)
{
	int tries = 0;

	while (a < end) {
		enum state now = pin_settled(a, in);

		if (now == FORBIDDEN)
			return a;
		if (now == SETTLED) {
			a = (a & ~FM_PAGE_MASK) + FM_PAGE;
			tries = 0;
			continue;
		}
		if (!first && tries++ == fm_tune.race_tries)
			return 0;
		if (fm_fault((void *)a, in, 0) > FM_FAULT_RETRY &&
		    fm_overlaps((void *)a, 1))
			return a;
	}
	return end;
}

static bool all_settled(uintptr_t a, uintptr_t end, bool in)
{
	for (; a < end; a = (a & ~FM_PAGE_MASK) + FM_PAGE)
		if (pin_settled(a, in) == ABSENT)
			return false;
	return true;
}

/* While it waits for a page a pin holds nobody up who drops pages, hands the
 * file over, or puts another mapping there; who does has locked the page, taken
 * its permission or hidden it first, and looks at `ready` then: all is looked
 * at once more after it. */
static uintptr_t settle_pin(struct fm_pin_slot *s, uintptr_t a, uintptr_t end,
			    bool in, bool first)
{
	uintptr_t got;

	for (;;) {
		got = bring_in(a, end, in, first);
		if (!got)
			return got;
		atomic_store(&s->ready, 1);
		if (all_settled(a, got, in))
			return got;
		atomic_store(&s->ready, 0);
	}
}

/* ---- the same pages twice ---------------------------------------------- */

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

static bool meets_any(struct view v, const struct fm_pin_slot *s)
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

/* The range's file pages, in another mapping, are among those that the thread
 * has already: to store to one view takes the other's permission away. */
static bool is_second_view(const struct fm_pin *pin, uintptr_t a, uintptr_t end,
			   bool in)
{
	FM_IN_EPOCH();
	struct view v = { .end = a & ~FM_PAGE_MASK };
	bool found = false;

	while (v.end < end && !found) {
		v = view_at(v.end, end);
		for (unsigned k = 0; v.file && k < pin->n && !found; k++) {
			const struct fm_pin_slot *s = fm_pin_slot(pin->slot[k]);

			found = (in || atomic_load(&s->in)) && meets_any(v, s);
		}
	}
	return found;
}

/* Who takes it back waits for what is pinned, as it is then. */
static bool may_become_ours(const void *buf, size_t len)
{
	return fm_any_promotable() &&
	       fm_krange_in(buf, len);
}

ssize_t fm_pin(struct fm_pin *pin, const void *buf, size_t len, bool in)
{
	uintptr_t a = (uintptr_t)buf, got;
	struct fm_pin_slot *s;
	uint32_t i;

	if (!len || (!fm_overlaps(buf, len) && !may_become_ours(buf, len)))
		return (ssize_t)len;
	if (pin->n >= FM_PINS)
		return -E2BIG;
	if (pin->n && is_second_view(pin, a, a + len, in))
		return -EBUSY;
	FM_BLOCK_SIGNALS();
	i = fm_pin_slot_get();
	s = fm_pin_slot(i);
	fm_pin_slot_set(i, a & ~FM_PAGE_MASK, a + len, in, pin->lets);
	pin->slot[pin->n++] = (uint16_t)i;
	got = settle_pin(s, a, a + len, in, pin->n == 1);
	if (!got)
		fm_pin_slot_put(pin->slot[--pin->n]);
	return got ? (ssize_t)(got - a) : -EBUSY;
}

void fm_unpin(struct fm_pin *pin)
{
	while (pin->n)
		pin->lost |= fm_pin_slot_put(pin->slot[--pin->n]);
}
