/* SPDX-License-Identifier: MIT */
/*
 * krange_edit.c - what calls of the program do to the ranges that the kernel
 * serves (krange.h), for the hooks.
 */
#include <sys/mman.h>

#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "krange_priv.h"

#define v fm_kranges_v

static uint32_t last_edit; /* under the lock */

static unsigned krange_edit_count(void)
{
	return atomic_load_explicit(&fm_kranges, memory_order_relaxed);
}

struct span {
	uintptr_t start, end;
};

static struct span span_of(const void *addr, size_t len)
{
	struct span s = { (uintptr_t)addr & ~FM_PAGE_MASK,
			  fm_page_up((uintptr_t)addr + len) };

	if (s.end < s.start)
		s.end = UINTPTR_MAX & ~FM_PAGE_MASK;
	return s;
}

/* Calls fn for each entry in the span, cut at its borders, and joins what is
 * alike then. Under the lock. */
static void edit_locked(const void *addr, size_t len,
			void (*fn)(struct fm_krange *r, void *arg), void *arg)
{
	const struct span s = span_of(addr, len);
	unsigned i, first;

	fm_kranges_change();
	fm_kranges_cut(s.start, s.end);
	first = fm_kranges_from(s.start);
	for (i = first; i < krange_edit_count() && v[i].start < s.end; i++)
		fn(&v[i], arg);
	fm_kranges_join(first ? first - 1 : 0, i);
	fm_kranges_changed();
}

/* False: there is none. */
static bool krange_edit_each_in(const void *addr, size_t len,
				void (*fn)(struct fm_krange *r, void *arg),
				void *arg)
{
	uint64_t mask;

	if (!fm_krange_in(addr, len) || !fm_kranges_lock(&mask))
		return false;
	edit_locked(addr, len, fn, arg);
	fm_kranges_unlock(&mask);
	return true;
}

/* ---- taken away -------------------------------------------------------- */

static void krange_edit_mark(struct fm_krange *r, void *arg)
{
	uint32_t *edit = arg;

	if (!*edit && !++last_edit)
		last_edit = 1;
	*edit = last_edit;
	r->edit = *edit;
}

uint32_t fm_krange_edit(const void *addr, size_t len)
{
	uint32_t edit = 0;

	krange_edit_each_in(addr, len, krange_edit_mark, &edit);
	return edit;
}

static void remove_marked(uint32_t edit, const struct span *s)
{
	unsigned i = fm_kranges_from(s->start);

	while (i < krange_edit_count() && v[i].start < s->end)
		if (v[i].edit == edit)
			fm_kranges_remove(i, 1);
		else
			i++;
}

static void unmark(struct fm_krange *r, void *arg)
{
	if (r->edit == *(uint32_t *)arg)
		r->edit = 0;
}

void fm_krange_edit_ends(uint32_t edit, const void *addr, size_t len, bool gone)
{
	const struct span s = span_of(addr, len);
	uint64_t mask;

	if (!gone) {
		krange_edit_each_in(addr, len, unmark, &edit);
		return;
	}
	if (!fm_kranges_lock(&mask))
		return;
	fm_kranges_change();
	remove_marked(edit, &s);
	fm_kranges_changed();
	fm_kranges_unlock(&mask);
}

/* ---- moved ------------------------------------------------------------- */

/* What we have advised is several to the kernel, of which it grows and moves
 * one at a time only (EFAULT). */
static void make_one(struct fm_krange *r, void *unused)
{
	if (!r->advised || r->said)
		return;
	fm_sys_madvise((void *)r->start, r->end - r->start, MADV_NORMAL);
	if (r->huge)
		fm_sys_madvise((void *)r->start, r->end - r->start,
			       MADV_NOHUGEPAGE);
	if (r->says_huge)
		fm_sys_madvise((void *)r->start, r->end - r->start,
			       MADV_HUGEPAGE);
	r->undone = fm_kranges_new_id();
	r->advised = r->huge = false;
}

void fm_krange_one(const void *addr, size_t len)
{
	krange_edit_each_in(addr, len, make_one, NULL);
}

void fm_krange_move_begins(struct fm_krange_move *m, void *old, size_t old_len,
			   size_t new_len, int flags, void *new_addr)
{
	const size_t keeps = fm_page_up(new_len);

	*m = (struct fm_krange_move){ .old = old, .len = old_len ? old_len : 1,
				      .stays = !old_len, .new_len = new_len };
	if (!(flags & MREMAP_FIXED) && old_len &&
	    keeps <= fm_page_up(old_len)) {
		m->shrinks = true;
		m->old = (char *)old + keeps;
		m->len = fm_page_up(old_len) - keeps;
	}
	m->edit = m->len ? fm_krange_edit(m->old, m->len) : 0;
	if (m->edit && !m->shrinks) /* and nobody splits it any more */
		fm_krange_one(m->old, m->len);
	if (flags & MREMAP_FIXED) {
		m->over = new_addr;
		m->over_edit = fm_krange_edit(new_addr, new_len);
	}
#ifdef MREMAP_DONTUNMAP
	m->stays |= flags & MREMAP_DONTUNMAP;
#endif
}

/* The kernel clears what is in the way first, and may fail then. */
static void over_gone(const struct fm_krange_move *m, bool failed)
{
	if (!m->over_edit)
		return;
	fm_krange_edit_ends(m->over_edit, m->over, m->new_len, true);
	if (failed)
		fm_kranges_incomplete();
}

static bool find_marked(const struct fm_krange_move *m, struct fm_krange *ret)
{
	bool found = false;
	uint64_t mask;
	unsigned i;

	if (!fm_kranges_lock(&mask))
		return false;
	i = fm_kranges_from((uintptr_t)m->old);
	if (i < krange_edit_count() && v[i].edit == m->edit &&
	    v[i].start <= (uintptr_t)m->old) {
		*ret = v[i];
		found = true;
	}
	fm_kranges_unlock(&mask);
	return found;
}

void fm_krange_move_ends(const struct fm_krange_move *m, void *at)
{
	const bool failed = fm_is_err(at);
	struct fm_krange r;
	bool found;

	over_gone(m, failed);
	if (!m->edit)
		return;
	found = !failed && !m->shrinks && find_marked(m, &r);
	fm_krange_edit_ends(m->edit, m->old, m->len, !failed && !m->stays);
	if (!found)
		return;
	r.start = (uintptr_t)at;
	r.end = r.start + fm_page_up(m->new_len);
	r.advised = false;
	fm_krange_add(&r);
}

/* ---- what the program says --------------------------------------------- */

static void krange_edit_protect(struct fm_krange *r, void *arg)
{
	r->prot = (uint8_t)*(int *)arg;
}

void fm_krange_protected(const void *addr, size_t len, int prot)
{
	krange_edit_each_in(addr, len, krange_edit_protect, &prot);
}

static void krange_edit_keep(struct fm_krange *r, void *arg)
{
	r->kept = true;
}

void fm_krange_kept(const void *addr, size_t len)
{
	krange_edit_each_in(addr, len, krange_edit_keep, NULL);
}

/* ---- locked ------------------------------------------------------------- */

static int lock_as_touched(const struct fm_krange *r)
{
	return (int)fm_sys3(SYS_mlock2, r->start, r->end - r->start,
			    MLOCK_ONFAULT);
}

struct pinning {
	bool pin;
	int err;
};

/* What is about to go is not there any more for us. */
static void krange_edit_pin(struct fm_krange *r, void *arg)
{
	struct pinning *p = arg;

	if (p->err || r->edit || r->pinned == p->pin)
		return;
	if (p->pin)
		p->err = lock_as_touched(r);
	else if (!r->locked)
		fm_sys2(SYS_munlock, r->start, r->end - r->start);
	r->pinned = p->pin && !p->err;
}

int fm_krange_pin(uintptr_t start, uintptr_t end, bool pin)
{
	struct pinning p = { pin, 0 };

	/* Each piece takes two entries more, of which no file may have many
	 * (mmap/promote.c). */
	if (pin && krange_edit_count() > FM_KRANGES / 8)
		return -ENOMEM;
	krange_edit_each_in((void *)start, end - start, krange_edit_pin, &p);
	return p.err;
}

static void krange_edit_lock(struct fm_krange *r, void *arg)
{
	r->kept = r->locked = true;
}

void fm_krange_locked(const void *addr, size_t len)
{
	krange_edit_each_in(addr, len, krange_edit_lock, NULL);
}

static void krange_edit_unlock(struct fm_krange *r, void *arg)
{
	r->locked = false;
	if (r->pinned && lock_as_touched(r))
		r->pinned = false;
}

void fm_krange_unlocked(const void *addr, size_t len)
{
	krange_edit_each_in(addr, len, krange_edit_unlock, NULL);
}

static void is_pinned(struct fm_krange *r, void *arg)
{
	*(bool *)arg |= r->pinned && !r->locked;
}

int fm_krange_dontneed(void *addr, size_t len)
{
	bool pinned = false;

	krange_edit_each_in(addr, len, is_pinned, &pinned);
	return pinned ? fm_sys_madvise(addr, len, MADV_DONTNEED_LOCKED) :
			-EINVAL;
}

/* ---- advice ------------------------------------------------------------- */

/* What we had said is undone, but of huge pages. MADV_NORMAL leaves it to us
 * again: it is one with the rest then, of which all is said anew. */
static void krange_edit_say(struct fm_krange *r, void *arg)
{
	const int advice = *(int *)arg;

	if (advice == MADV_DONTFORK || advice == MADV_DOFORK) {
		r->nofork = advice == MADV_DONTFORK;
		return;
	}
	r->said = (uint8_t)advice;
	r->advised = r->huge;
	r->undone = fm_kranges_new_id();
}

/* What we have said was said without knowing: the range begins as new. */
static void krange_edit_say_huge(struct fm_krange *r, void *arg)
{
	r->kept = true;
	r->huge = false;
	r->says_huge = *(int *)arg == MADV_HUGEPAGE;
	if (r->says_huge)
		make_one(r, NULL);
}

/* What notes such an advice, NULL: it does not last, or is none of ours. */
static void (*teller(int advice))(struct fm_krange *r, void *arg)
{
	switch (advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_DONTFORK:
	case MADV_DOFORK:
		return krange_edit_say;
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		return krange_edit_say_huge;
	case MADV_DONTDUMP:
	case MADV_MERGEABLE:
		return krange_edit_keep;
	default:
		return NULL;
	}
}

/* Nothing of ours is undone by it, either. */
static bool is_noted(const struct fm_krange *r, int advice)
{
	switch (advice) {
	case MADV_DONTFORK:
	case MADV_DOFORK:
		return r->nofork == (advice == MADV_DONTFORK);
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		return r->kept && !r->huge && !r->advised &&
		       r->says_huge == (advice == MADV_HUGEPAGE);
	case MADV_DONTDUMP:
	case MADV_MERGEABLE:
		return r->kept;
	default:
		return r->said == advice && !r->advised;
	}
}

static bool all_noted(const void *addr, size_t len, int advice)
{
	const struct span s = span_of(addr, len);
	unsigned i = fm_kranges_from(s.start);

	for (; i < krange_edit_count() && v[i].start < s.end; i++)
		if (!is_noted(&v[i], advice))
			return false;
	return true;
}

void fm_krange_said(const void *addr, size_t len, int advice)
{
	if (teller(advice))
		krange_edit_each_in(addr, len, teller(advice), &advice);
}

/* A part of what the program has not spoken of: natively "normal" changes
 * nothing there. What we have said would be undone for the part alone, and to
 * the kernel it is several until it is said anew. */
static bool says_nothing_new(const void *addr, size_t len, int advice)
{
	const struct span s = span_of(addr, len);
	const unsigned i = fm_kranges_from(s.start);
	const struct fm_krange *r = &v[i];

	return advice == MADV_NORMAL && i < krange_edit_count() &&
	       !((uintptr_t)addr & FM_PAGE_MASK) && !r->edit &&
	       r->said == MADV_NORMAL && r->start <= s.start &&
	       r->end >= s.end && len < r->end - r->start;
}

static int say_locked(void *addr, size_t len, int advice)
{
	int err;

	if (says_nothing_new(addr, len, advice))
		return 0;
	err = fm_sys_madvise(addr, len, advice);
	if (!err && !all_noted(addr, len, advice))
		edit_locked(addr, len, teller(advice), &advice);
	return err;
}

bool fm_krange_says(void *addr, size_t len, int advice, int *ret)
{
	uint64_t mask;
	bool mine;

	if (!teller(advice) || !fm_krange_in(addr, len) ||
	    !fm_kranges_lock(&mask))
		return false;
	mine = !fm_overlaps(addr, len);
	if (mine)
		*ret = say_locked(addr, len, advice);
	fm_kranges_unlock(&mask);
	return mine;
}
