/* SPDX-License-Identifier: MIT */
#include "krange.h"

#include <string.h>
#include <sys/mman.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/snapshot.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "krange_priv.h"
#include "policy.h"

_Atomic uint32_t fm_kranges; /* how many there are */

struct fm_krange fm_kranges_v[FM_KRANGES];
/* Its borders again, for who looks without the lock. */
static struct {
	_Atomic uintptr_t start, end;
} border[FM_KRANGES];
static _Atomic uint32_t seq; /* odd: it is being changed */
static _Atomic bool incomplete;
static _Atomic uint32_t last_id;
static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);

#define v fm_kranges_v

static unsigned krange_count(void)
{
	return atomic_load_explicit(&fm_kranges, memory_order_relaxed);
}

bool fm_kranges_lock(uint64_t *ret_mask)
{
	fm_up_shim_is_me *is_me = FM_UP_ONE(shim_is_me);

	if (is_me && !is_me())
		return false;
	fm_block_signals(ret_mask);
	fm_lock(&lock);
	return true;
}

void fm_kranges_unlock(const uint64_t *mask)
{
	fm_unlock(&lock);
	fm_restore_signals(mask);
}

uint32_t fm_kranges_new_id(void)
{
	return atomic_fetch_add(&last_id, 1) + 1;
}

void fm_kranges_incomplete(void)
{
	atomic_store(&incomplete, true);
}

bool fm_krange_complete(void)
{
	return !atomic_load(&incomplete);
}

uint32_t fm_krange_changes(void)
{
	return atomic_load(&seq);
}

/* ---- changes ----------------------------------------------------------- */

void fm_kranges_change(void)
{
	atomic_fetch_add(&seq, 1);
}

void fm_kranges_changed(void)
{
	for (unsigned i = 0; i < krange_count(); i++) {
		atomic_store_explicit(&border[i].start, v[i].start,
				      memory_order_relaxed);
		atomic_store_explicit(&border[i].end, v[i].end,
				      memory_order_relaxed);
	}
	atomic_fetch_add(&seq, 1);
}

unsigned fm_kranges_from(uintptr_t a)
{
	unsigned lo = 0, hi = krange_count();

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (v[mid].end > a)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void kranges_insert(unsigned i, const struct fm_krange *r)
{
	unsigned n = krange_count();

	memmove(&v[i + 1], &v[i], (n - i) * sizeof(v[0]));
	v[i] = *r;
	atomic_store(&fm_kranges, n + 1);
}

void fm_kranges_remove(unsigned i, unsigned n)
{
	unsigned all = krange_count();

	memmove(&v[i], &v[i + n], (all - i - n) * sizeof(v[0]));
	atomic_store(&fm_kranges, all - n);
}

static bool krange_continues(const struct fm_krange *a,
			     const struct fm_krange *b)
{
	return a->end == b->start && a->id == b->id && a->edit == b->edit &&
	       a->pgoff + ((a->end - a->start) >> FM_PAGE_SHIFT) == b->pgoff &&
	       a->prot == b->prot && a->said == b->said &&
	       a->nofork == b->nofork && a->kept == b->kept &&
	       a->locked == b->locked && a->pinned == b->pinned &&
	       a->says_huge == b->says_huge;
}

void fm_kranges_join(unsigned i, unsigned j)
{
	for (unsigned k = j; k-- > i;) {
		if (k + 1 >= krange_count() ||
		    !krange_continues(&v[k], &v[k + 1]))
			continue;
		v[k].end = v[k + 1].end;
		v[k].advised |= v[k + 1].advised;
		v[k].huge |= v[k + 1].huge;
		if (v[k + 1].undone > v[k].undone)
			v[k].undone = v[k + 1].undone;
		fm_kranges_remove(k + 1, 1);
	}
}

/* Are they one but for what the program has said of them? */
static bool differ_by_words(const struct fm_krange *a,
			    const struct fm_krange *b)
{
	struct fm_krange alike = *b;

	alike.said = a->said;
	return krange_continues(a, &alike);
}

/* The table is full: of the longest row of entries that differ only by what the
 * program has said it is not known any more, until that is said of all of it,
 * or it goes. */
static void make_room(void)
{
	unsigned at = 0, most = 0;

	for (unsigned i = 0, n; i < krange_count(); i += n + 1) {
		for (n = 0; i + n + 1 < krange_count() &&
			    differ_by_words(&v[i + n], &v[i + n + 1]); n++)
			;
		if (n > most)
			most = n, at = i;
	}
	for (unsigned k = at; most && k <= at + most; k++)
		v[k].said = FM_SAID_SEVERAL;
	fm_kranges_join(at, at + most);
}

static void krange_split(uintptr_t at)
{
	unsigned i = fm_kranges_from(at);
	struct fm_krange upper;

	if (i == krange_count() || v[i].start >= at)
		return;
	if (krange_count() == FM_KRANGES) { /* no room for two */
		fm_kranges_incomplete();
		fm_kranges_remove(i, 1);
		return;
	}
	upper = v[i];
	upper.start = at;
	upper.pgoff += (at - v[i].start) >> FM_PAGE_SHIFT;
	v[i].end = at;
	kranges_insert(i + 1, &upper);
}

void fm_kranges_cut(uintptr_t start, uintptr_t end)
{
	if (krange_count() > FM_KRANGES - 2)
		make_room();
	krange_split(start);
	krange_split(end);
}

static void clear(uintptr_t start, uintptr_t end)
{
	unsigned i, n = 0;

	fm_kranges_cut(start, end);
	for (i = fm_kranges_from(start);
	     i + n < krange_count() && v[i + n].start < end; n++)
		;
	fm_kranges_remove(i, n);
}

static void kranges_add(const struct fm_krange *r)
{
	clear(r->start, r->end);
	if (krange_count() < FM_KRANGES)
		kranges_insert(fm_kranges_from(r->start), r);
	else
		fm_kranges_incomplete();
}

void fm_krange_add(const struct fm_krange *r)
{
	struct fm_krange new = *r;
	uint64_t mask;

	new.id = fm_kranges_new_id();
	new.edit = 0;
	new.since_ms = fm_now_ms();
	if (!fm_kranges_lock(&mask))
		return;
	fm_kranges_change();
	kranges_add(&new);
	fm_kranges_changed();
	fm_kranges_unlock(&mask);
	/* Who records starts beside the thread that advises. */
	if (!fm_krange_may_advise(&new) && !fm_settings()->trace_serve)
		return;
	FM_UP_EACH(krange_added, tell)
		tell(&new);
}

void fm_krange_forget(uintptr_t start, uintptr_t end)
{
	uint64_t mask;

	if (!fm_krange_in((void *)start, end - start) ||
	    !fm_kranges_lock(&mask))
		return;
	fm_kranges_change();
	clear(start, end);
	fm_kranges_changed();
	fm_kranges_unlock(&mask);
}

/* ---- questions --------------------------------------------------------- */

/* False where it cannot be told: it is being changed. */
static bool krange_look(uintptr_t a, uintptr_t end, bool *ret)
{
	const uint32_t s = atomic_load(&seq);
	unsigned lo = 0, all = krange_count(), hi = all;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (atomic_load_explicit(&border[mid].end,
					 memory_order_relaxed) > a)
			hi = mid;
		else
			lo = mid + 1;
	}
	*ret = lo < all && atomic_load_explicit(&border[lo].start,
						memory_order_relaxed) < end;
	fm_fence();
	return !(s & 1) && atomic_load(&seq) == s;
}

bool fm_krange_in(const void *addr, size_t len)
{
	const uintptr_t a = (uintptr_t)addr & ~FM_PAGE_MASK;
	uintptr_t end = (uintptr_t)addr + len;
	bool in;

	if (!fm_krange_any() || !len)
		return false;
	if (end < a)
		end = UINTPTR_MAX;
	return !krange_look(a, end, &in) || in;
}

static bool krange_is_of(const struct fm_krange *r,
			 const struct fm_file_id *file)
{
	return !file || (r->ino == file->ino && r->dev == file->dev);
}

unsigned fm_krange_list(const struct fm_file_id *file, struct fm_krange *ret,
			unsigned room)
{
	unsigned n = 0;
	uint64_t mask;

	if (!fm_krange_any() || !fm_kranges_lock(&mask))
		return 0;
	for (unsigned i = 0; i < krange_count() && n < room; i++)
		if (krange_is_of(&v[i], file))
			ret[n++] = v[i];
	fm_kranges_unlock(&mask);
	return n;
}

static void krange_put_all(struct fm_snapshot *s, void *file)
{
	uint64_t mask;

	if (!fm_krange_any() || !fm_kranges_lock(&mask))
		return;
	for (unsigned i = 0; i < krange_count(); i++)
		if (krange_is_of(&v[i], file))
			fm_snapshot_put(s, &v[i]);
	fm_kranges_unlock(&mask);
}

int fm_krange_all(const struct fm_file_id *file, struct fm_krange_all *ret)
{
	struct fm_snapshot s;
	int err = fm_snapshot(&s, sizeof(v[0]), krange_put_all,
			      (struct fm_file_id *)(uintptr_t)file);

	*ret = (struct fm_krange_all){ s.list, (unsigned)s.n };
	return err;
}

static uint64_t krange_sum(bool (*which)(const struct fm_krange *r),
			   uintptr_t start, uintptr_t end)
{
	uint64_t mask, bytes = 0;

	if (!fm_krange_any() || !fm_kranges_lock(&mask))
		return 0;
	for (unsigned i = 0; i < krange_count(); i++) {
		const uintptr_t lo = v[i].start > start ? v[i].start : start;
		const uintptr_t hi = fm_least(v[i].end, end);

		if (which(&v[i]))
			bytes += v[i].end - v[i].start -
				 (lo < hi ? hi - lo : 0);
	}
	fm_kranges_unlock(&mask);
	return bytes;
}

static bool every_krange(const struct fm_krange *r)
{
	return true;
}

uint64_t fm_krange_bytes(void)
{
	return krange_sum(every_krange, 0, 0);
}

static bool krange_is_pinned(const struct fm_krange *r)
{
	return r->pinned;
}

uint64_t fm_krange_pinned_beside(uintptr_t start, uintptr_t end)
{
	return krange_sum(krange_is_pinned, start, end);
}

bool fm_krange_first(uintptr_t start, uintptr_t end, struct fm_krange *ret)
{
	uint64_t mask;
	unsigned i;
	bool is;

	if (!fm_krange_any() || !fm_kranges_lock(&mask))
		return false;
	i = fm_kranges_from(start);
	is = start < end && i < krange_count() && v[i].start < end;
	if (is)
		*ret = v[i];
	fm_kranges_unlock(&mask);
	return is;
}

unsigned fm_krange_list_dead(struct fm_krange *ret, unsigned room)
{
	const unsigned n = (unsigned)fm_least(krange_count(), room);

	memcpy(ret, v, n * sizeof(v[0]));
	return n;
}

bool fm_krange_may_advise(const struct fm_krange *r)
{
	return !r->said && (!r->policy || r->policy->serve == FM_SERVE_AUTO ||
			    r->policy->serve == FM_SERVE_ADVISED);
}

static bool may_advise(uint32_t id, uintptr_t start, uintptr_t end)
{
	unsigned i = fm_kranges_from(start);

	for (; i < krange_count() && start < end; start = v[i++].end)
		if (v[i].start > start || v[i].id != id || v[i].edit ||
		    v[i].said)
			return false;
	return start >= end;
}

/* What the program has said of huge pages stands (it is kept then, too), but
 * beside MADV_RANDOM, and only what we have said is undone. */
static bool may_be_huge(uintptr_t start, uintptr_t end, int advice)
{
	for (unsigned i = fm_kranges_from(start);
	     i < krange_count() && v[i].start < end; i++)
		if (advice == MADV_HUGEPAGE ? v[i].kept :
		    advice == MADV_NOHUGEPAGE && !v[i].huge)
			return false;
	return true;
}

bool fm_krange_has(uint32_t id, uintptr_t start, uintptr_t end)
{
	uint64_t mask;
	bool has;

	if (!fm_kranges_lock(&mask))
		return false;
	has = may_advise(id, start, end);
	fm_kranges_unlock(&mask);
	return has;
}

/* A fault in a mapping with MADV_HUGEPAGE reads 2 MiB, also with MADV_RANDOM.
 * Programs say so of all that they map, for what is in memory: what is larger,
 * and read here and there, goes without. */
static void huge_beside(uintptr_t start, uintptr_t end, int advice)
{
	if (advice != MADV_RANDOM && advice != MADV_NORMAL)
		return;
	for (unsigned i = fm_kranges_from(start);
	     i < krange_count() && v[i].start < end; i++) {
		uintptr_t from = v[i].start > start ? v[i].start : start;

		if (v[i].says_huge)
			fm_sys_madvise((void *)from,
				       fm_least(v[i].end, end) - from,
				       advice == MADV_RANDOM ?
					       MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	}
}

int fm_krange_advise(uint32_t id, uintptr_t start, uintptr_t end, int advice)
{
	int err = -ESTALE;
	uint64_t mask;

	if (!fm_kranges_lock(&mask))
		return err;
	if (may_advise(id, start, end) && may_be_huge(start, end, advice)) {
		for (unsigned i = fm_kranges_from(start);
		     i < krange_count() && v[i].start < end; i++) {
			v[i].advised = true;
			v[i].huge |= advice == MADV_HUGEPAGE;
		}
		err = fm_sys_madvise((void *)start, end - start, advice);
		if (!err)
			huge_beside(start, end, advice);
	}
	fm_kranges_unlock(&mask);
	return err;
}

int fm_krange_view(uint32_t id, uintptr_t page, void *at)
{
	int err = -ESTALE;
	uint64_t mask;
	void *p;

	if (!fm_kranges_lock(&mask))
		return err;
	if (may_advise(id, page, page + FM_PAGE)) {
		p = (void *)fm_sys5(SYS_mremap, page, 0, FM_PAGE,
				    MREMAP_MAYMOVE | MREMAP_FIXED, at);
		err = fm_is_err(p) ? (int)(intptr_t)p : 0;
	}
	fm_kranges_unlock(&mask);
	return err;
}

/* ---- fork -------------------------------------------------------------- */

/* What the kernel has left out is not here; nor is who was about to change the
 * table. Locks are not inherited. */
static void krange_forked(void)
{
	fm_lock_reset(&lock);
	if (atomic_load(&seq) & 1) {
		fm_kranges_incomplete();
		atomic_store(&fm_kranges, 0);
		fm_kranges_changed();
		return;
	}
	fm_kranges_change();
	for (unsigned i = krange_count(); i-- > 0;) {
		v[i].locked = v[i].pinned = false;
		if (v[i].nofork)
			fm_kranges_remove(i, 1);
	}
	fm_kranges_changed();
}

FM_LIFE(krange, .level = FM_LIFE_HELPERS, .forked = krange_forked)
