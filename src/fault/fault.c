/* SPDX-License-Identifier: MIT */
/*
 * fault.c - one fault, from the signal to the installed page.
 *
 *   fm_fault, serve   find the mapping (lock-free)
 *   fault_in          take what readahead has (fm_ahead_take), or lock the
 *                     page, look again, and
 *     resolve         decide which of two:
 *       make_writable   present but write-protected: mark dirty, un-protect
 *       load            from another mapping of ours, or from the file
 *
 * The page lock is held from the decision to the end, so every other thread
 * that wants the page waits for this one, and exactly one read is made.
 */
#include "fault.h"

#include <sys/mman.h>

#include "arch/arch.h"
#include "base/epoch.h"
#include "base/log.h"
#include "base/tables.h"
#include "cache/cache.h"
#include "coherence.h"
#include "engine.h"
#include "fault_around.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "nearby.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define STORES_MOST 256 /* size: pages that are un-protected by one call */

/* ---- stores ----------------------------------------------------------- */

/* Dirty is visible to write-back and guardian before the page is writable. */
static FM_FAULT void mark_dirty(struct fm_file *f, uint64_t fp,
				_Atomic uint8_t *p)
{
	uint8_t state = fm_page_state(p), more = state & FP_WB ? FP_REDIRTY : 0;

	if (state & FP_CLEANED)
		fm_wb_again(1);
	fm_dirty_set(f, fp);
	fm_page_set(p, FP_DIRTY | more, FP_CLEANED);
	fm_wb_check();
}

FM_FAULT void fm_fault_mark_dirty(struct fm_map *m, uint64_t i)
{
	mark_dirty(m->file, m->pgoff + i, fm_file_page(m->file, m->pgoff + i));
}

/* The page is about to be the program's own copy: never evicted, not part of
 * the cache any more. */
static FM_FAULT void become_own(struct fm_map *m, uint64_t i, uint8_t mode)
{
	if (!(mode & PM_COW))
		fm_cache_uncharge(m->file, 1);
	atomic_store(&m->modes->own, true);
	fm_mode_set(m, i, mode | PM_PRESENT | PM_COW | PM_WRITABLE);
}

/* Resident, and its next store will be seen. */
static FM_FAULT bool is_protected(struct fm_map *m, uint64_t i)
{
	return (fm_mode(m, i) & (PM_PRESENT | PM_WRITABLE | PM_LAZY)) ==
	       PM_PRESENT;
}

/* May page i, which nobody has asked for yet, be un-protected along with the
 * one before it? Leaves it locked and dirty if so. */
static FM_FAULT bool join_stores(struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	if (!is_protected(m, i) || !fm_page_trylock(p))
		return false;
	/* An alias that has come meanwhile may hold a copy of this page, and
	 * this may be a piece by now, whose aliases m does not know. */
	if (is_protected(m, i) && !atomic_load(&m->aliased) &&
	    !atomic_load(&m->file->demote->frozen) &&
	    fm_load_has_room(m->file, p) &&
	    fm_space_find((uintptr_t)fm_map_addr(m, i)) == m) {
		mark_dirty(m->file, m->pgoff + i, p);
		fm_mode_set(m, i, fm_mode(m, i) | PM_WRITABLE);
		return true;
	}
	fm_page_unlock(p);
	return false;
}

/* Pages of m. */
struct range {
	uint64_t lo, hi;
};

/* Is the page so far from page i writable? `step` is the way that stores go:
 * upwards 1, downwards -1, what lies before page 0 being far beyond the end. */
static FM_FAULT bool stored(struct fm_map *m, uint64_t i, uint64_t step,
			    uint64_t back)
{
	const uint64_t k = i - step * back;

	return k < fm_map_pages(m) && (fm_mode(m, k) & PM_WRITABLE);
}

/* Dirty at once: no more than the evicting thread keeps free. */
static FM_FAULT uint64_t most_stores(void)
{
	return fm_least(STORES_MOST, fm_cache_limit() / fm_tune.evictor_free);
}

/* How far stores that have come to page i may be expected to go on: not further
 * than they have come. */
static FM_FAULT uint64_t expected_stores(struct fm_map *m, uint64_t i,
					 uint64_t step)
{
	const uint64_t most = most_stores();
	uint64_t come = 1;

	if (!stored(m, i, step, 1))
		return 0;
	while (come < most && stored(m, i, step, 2 * come))
		come *= 2;
	return come - 1;
}

/* Stores that go one way page by page: the next few are un-protected in the
 * same call. They count as dirty from now on; what is written back of a page
 * that the program then leaves alone is what was read. */
static FM_FAULT uint64_t join_next(struct fm_map *m, uint64_t i, uint64_t step)
{
	const uint64_t max = expected_stores(m, i, step);
	uint64_t n = 0, k = i + step;

	while (n < max && k < fm_map_pages(m) && join_stores(m, k)) {
		n++;
		k += step;
	}
	return n;
}

/* Page i and what joins it. At most one of the two ways finds anything: where
 * stores have been no page can join. */
static FM_FAULT struct range join_around(struct fm_map *m, uint64_t i)
{
	const uint64_t down = join_next(m, i, (uint64_t)-1);
	const uint64_t up = down ? 0 : join_next(m, i, 1);

	return (struct range){ i - down, i + up + 1 };
}

static FM_FAULT void leave_stores(struct fm_map *m, uint64_t i,
				  const struct range *r, bool undo)
{
	for (uint64_t k = r->lo; k < r->hi; k++) {
		if (k == i)
			continue;
		if (undo)
			fm_mode_set(m, k,
				    fm_mode(m, k) & (uint8_t)~PM_WRITABLE);
		fm_page_unlock(fm_file_page(m->file, m->pgoff + k));
	}
}

/* Page i and those that joined it, all of them locked. What joined must not
 * fail what was asked for. */
static FM_FAULT int unprotect(struct fm_map *m, uint64_t i,
			      const struct range *r)
{
	const size_t len = (r->hi - r->lo) << FM_PAGE_SHIFT;
	int err = fm_uffd_protect(fm_map_addr(m, r->lo), len, false);

	if (err && len > FM_PAGE) { /* perhaps a part of it: all as it was */
		fm_uffd_protect(fm_map_addr(m, r->lo), len, true);
		leave_stores(m, i, r, true);
		return fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, false);
	}
	leave_stores(m, i, r, false);
	return err;
}

/* Not between the preparation of a fork and the fork: the child would not have
 * it. */
static FM_FAULT int make_own(struct fm_map *m, uint64_t i, uint8_t mode)
{
	int err;

	if (!fm_freeze_enter(m->file))
		return -EAGAIN;
	err = fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, false);
	if (!err)
		become_own(m, i, mode);
	fm_freeze_leave(m->file);
	return err;
}

/* Page i of m, present and protected here, becomes writable. */
static FM_FAULT int make_writable(struct fm_map *m, uint64_t i,
				  _Atomic uint8_t *p)
{
	uint8_t mode = fm_mode(m, i);
	struct range r = { i, i + 1 };
	int err;

	if (!m->shared)
		return make_own(m, i, mode);
	if (atomic_load(&m->aliased)) {
		err = fm_invalidate_peers(m, i);
		if (err)
			return err;
	}
	err = fm_load_allocate(m->file, m->pgoff + i, p);
	if (err)
		return err;
	mark_dirty(m->file, m->pgoff + i, p);
	fm_mode_set(m, i, mode | PM_WRITABLE);
	if (!atomic_load(&m->aliased))
		r = join_around(m, i);
	err = unprotect(m, i, &r);
	if (err)
		fm_mode_set(m, i, mode);
	return err;
}

/* ---- loads ------------------------------------------------------------ */

static FM_FAULT void count_fault(struct fm_map *m, bool write, bool present)
{
	struct fm_file_stats *st = m->file->st;

	fm_count(&m->faults, 1);
	fm_count(present ? &st->faults_wp :
		 write   ? &st->faults_write : &st->faults_read, 1);
}

/* The kernel lets an access that finds no memory try again, after it has ended
 * somebody. Returns for how long it has been so. */
static FM_FAULT uint64_t short_of_memory(void)
{
	static _Atomic uint64_t since, last, told;
	uint64_t now = fm_now_ms(), begin;

	if (now - atomic_exchange(&last, now) > 1000)
		atomic_store(&since, now);
	begin = atomic_load(&since);
	if (now > begin + 1000 &&
	    now > atomic_load(&told) + fm_tune.patience_ms) {
		atomic_store(&told, now);
		fm_log(FM_LOG_ERROR, "no memory for a page, for %lu ms: its "
		       "access is tried again", (unsigned long)(now - begin));
	}
	fm_sys_sleep_us(1000);
	return now > begin ? now - begin : 0;
}

/* Page i and its neighbours: pages [lo, hi) of the mapping, locked, and what
 * was read of them. */
struct around {
	uint64_t lo, hi;
	long got; /* pages, or -errno */
	struct fm_bounce *b;
	bool starved; /* no memory to install one */
};

static FM_FAULT bool fault_covers(const struct around *b, uint64_t i)
{
	return b->got > 0 && b->lo + (uint64_t)b->got > i;
}

/* Neighbours must not fail the page that was asked for: if they cannot be read
 * up to page i, page i is read alone. */
static FM_FAULT void read_around(struct fm_map *m, uint64_t i, struct around *b)
{
	fm_fault_around_lock(m, i, &b->lo, &b->hi);
	fm_cache_charge(m->file, b->hi - b->lo);
	/* Last: who has a buffer waits for nothing but the device. */
	b->b = fm_bounce_get();
	b->got = fm_load(m->file, m->pgoff + b->lo, b->hi - b->lo, b->b->mem);
	if (b->hi - b->lo == 1 || fault_covers(b, i))
		return;
	fm_fault_around_unlock(m, i, b->lo, b->hi);
	fm_cache_uncharge(m->file, b->hi - b->lo - 1);
	b->lo = i;
	b->hi = i + 1;
	b->got = fm_load(m->file, m->pgoff + i, 1, b->b->mem);
}

static FM_FAULT long install(struct fm_map *m, struct around *b, uint64_t from,
			     uint64_t n, bool store)
{
	const char *src = (char *)b->b->mem + ((from - b->lo) << FM_PAGE_SHIFT);
	long done = fm_install(m, from, src, n, store);

	if (done <= 0)
		fm_cache_uncharge(m->file, 1);
	b->starved |= done == -ENOMEM;
	return done;
}

/* Install pages [from, to) of what was read, by one call unless a part of the
 * range is going away. */
static FM_FAULT void install_run(struct fm_map *m, struct around *b,
				 uint64_t from, uint64_t to)
{
	while (from < to) {
		long n = install(m, b, from, to - from, false);

		from += n > 0 ? (uint64_t)n : 1;
	}
}

/* The demand page alone takes a store. What could not be installed is asked for
 * again by the next fault. */
static FM_FAULT void install_around(struct fm_map *m, uint64_t i, bool store,
				   struct around *b)
{
	uint64_t end = b->lo + (uint64_t)b->got;

	fm_cache_uncharge(m->file, b->hi - end);
	install_run(m, b, b->lo, store ? i : end);
	if (store) {
		install(m, b, i, 1, true);
		install_run(m, b, i + 1, end);
	}
	if (b->starved && !(fm_mode(m, i) & PM_PRESENT))
		short_of_memory();
}

/* Read page i and what lies around it, and install them. */
static FM_FAULT int load_from_file(struct fm_map *m, uint64_t i, bool store,
				   _Atomic uint8_t *p, struct range *came)
{
	struct fm_file *f = m->file;
	int err = store ? fm_load_allocate(f, m->pgoff + i, p) : 0;
	struct around b = { .starved = false };

	if (err)
		return err;
	read_around(m, i, &b);
	if (fault_covers(&b, i)) {
		*came = (struct range){ b.lo, b.lo + (uint64_t)b.got };
		if (store)
			mark_dirty(f, m->pgoff + i, p);
		install_around(m, i, store, &b);
	} else {
		err = b.got < 0 ? (int)b.got : -ENXIO; /* beyond the end */
		fm_cache_uncharge(f, b.hi - b.lo);
	}
	fm_fault_around_unlock(m, i, b.lo, b.hi);
	fm_bounce_put(b.b);
	return err;
}

static FM_FAULT int load(struct fm_map *m, uint64_t i, bool write,
			 _Atomic uint8_t *p, struct range *came)
{
	bool store = write && m->shared;
	int err;

	if (atomic_load(&m->aliased)) {
		err = fm_share_from_peer(m, i);
		if (err < 0)
			return err;
		if (err == 1)
			return write ? make_writable(m, i, p) : 0;
		if (store) {
			err = fm_invalidate_peers(m, i);
			if (err)
				return err;
		}
	}
	err = load_from_file(m, i, store, p, came);
	/* Where there was no memory for it there is nothing to become its
	 * own. */
	if (!err && write && !m->shared && (fm_mode(m, i) & PM_PRESENT))
		err = make_writable(m, i, p);
	return err;
}

/* What a lazy page holds is what would be read for a store to it, as long as
 * the kernel has not taken it. The caller's lock keeps it registered: what is
 * gone is an error here, not zeros. -EAGAIN: it is to be loaded. */
static FM_FAULT int store_lazy(struct fm_map *m, uint64_t i,
			       _Atomic uint8_t *p)
{
	struct around b = { .lo = i, .hi = i + 1, .got = 1 };
	int err;

	if (!m->shared || atomic_load(&m->aliased) || !fm_lazyfree_tells())
		return -EAGAIN;
	err = fm_load_allocate(m->file, m->pgoff + i, p);
	if (err)
		return err;
	fm_cache_charge(m->file, 1);
	b.b = fm_bounce_get();
	if (fm_lazyfree_take(m, i, b.b->mem)) {
		count_fault(m, true, true);
		mark_dirty(m->file, m->pgoff + i, p);
		install_around(m, i, true, &b);
	} else {
		fm_cache_uncharge(m->file, 1);
		err = -EAGAIN;
	}
	fm_bounce_put(b.b);
	return err;
}

/* ---- the fault -------------------------------------------------------- */

/* Somebody's access. */
struct access {
	bool write;
	bool told;         /* by a message, */
	uint64_t protects; /* before which write protection was on so often */
	uint32_t who;      /* a hash of the thread and what it runs */
};

/*
 * Was this store made long ago, and has the page been written back since? Then
 * it must not count as dirty again: another process may write to the file, and
 * what is written back once more would replace that. When in doubt the thread
 * is woken, and if it still waits, it faults again.
 */
static FM_FAULT bool may_be_old(const struct access *acc)
{
	return acc->told && acc->protects != fm_uffd_protects();
}

/* The kernel has needed its memory, and probably that of its neighbours, or
 * somebody stores to it. Either way it is loaded as if it had been evicted. */
static FM_FAULT void take_lazy(struct fm_map *m, uint64_t i, bool write)
{
	if (!write)
		fm_lazyfree_look(m, i - i % FM_HUGE_PAGES, FM_HUGE_PAGES, i);
	if (fm_mode_lazy(fm_mode(m, i)))
		fm_lazyfree_pass(m, i, write);
}

/* The page is locked. 0, or -errno: -ENXIO beyond the end, -EBUSY when a
 * coherence action must wait for a pinned copy. */
static FM_FAULT int resolve(struct fm_map *m, uint64_t i,
			    const struct access *acc, _Atomic uint8_t *p,
			    struct range *came)
{
	uint8_t mode = fm_mode(m, i);
	bool write = acc->write;
	int err;

	if (fm_mode_lazy(mode)) {
		err = write && !may_be_old(acc) ? store_lazy(m, i, p) : -EAGAIN;
		if (err != -EAGAIN)
			return err;
		take_lazy(m, i, write);
	} else if (mode & PM_PRESENT) {
		if (!write || (mode & PM_WRITABLE) || may_be_old(acc))
			return 0; /* somebody was quicker */
		count_fault(m, true, true);
		return make_writable(m, i, p);
	}
	write = write && !may_be_old(acc);
	fm_map_touch(m, i);
	count_fault(m, write, false);
	return load(m, i, write, p, came);
}

/* A store to memory that the program may only read: give the memory the
 * program's protection and let the access run into it again, so that the
 * kernel raises the signal (and writes the core) as it would have. Under the
 * space lock, or what is mapped there meanwhile would get that protection; for
 * which a fault may not wait, but try again. */
static FM_FAULT bool fault_refuse(struct fm_map *m, uintptr_t a,
				  enum fm_fault_result *ret)
{
	uint64_t mask;

	*ret = FM_FAULT_RETRY;
	if (atomic_load(&m->vma_prot))
		return false; /* protected already: missing page, load it */
	if (!fm_space_trylock(&mask)) {
		fm_sys_sleep_us(50);
		return true;
	}
	if (fm_space_find(a) == m && !atomic_load(&m->vma_prot) &&
	    fm_map_sync_prot(m)) /* one vma with others */
		*ret = FM_FAULT_SEGV;
	fm_space_unlock(&mask);
	return true;
}

/* The kernel says such things in its own log. Once a file; the end of it
 * (ENXIO) is nobody's fault. */
static FM_FAULT void say_failed(struct fm_map *m, uint64_t i, int err)
{
	struct fm_file *f = m->file;
	const bool source = fm_only_engine(f);

	if (err == -ENXIO || atomic_exchange(&f->load->told_failed, true))
		return;
	fm_log(FM_LOG_ERROR, "%s%s%s: the page at %lu cannot be read%s, errno "
	       "%d: the access raises SIGBUS; check %s", f->path,
	       source ? ", source " : "", source ? f->policy->source : "",
	       (unsigned long)((m->pgoff + i) << FM_PAGE_SHIFT),
	       source ? "" : ", or stored to", -err,
	       source ? "the source" : "the device or free space");
}

/* Ask for f to be demoted, and wait a moment. The access runs again until that
 * is done. */
static FM_FAULT void ask_to_demote(struct fm_file *f, enum fm_server_reason why)
{
	fm_demote_ask(f, why);
	fm_wb_kick();
	fm_sys_sleep_us(200);
}

/* A thread that has left our descriptors behind (base/tables.h): one that has
 * them hands the file over, and the access runs again until then. */
static FM_FAULT bool goes_to_kernel(struct fm_file *f)
{
	static _Atomic uint64_t since;
	uint64_t none = 0, now;

	if (!atomic_load(&fm_tables_split) || !fm_table_is_other())
		return false;
	now = fm_now_ms();
	atomic_compare_exchange_strong(&since, &none, now);
	if (now - atomic_load(&since) > fm_tune.patience_ms)
		return false;
	ask_to_demote(f, FM_WHY_PARTED);
	return true;
}

static FM_FAULT enum fm_fault_result to_result(struct fm_map *m, uint64_t i,
					       int err)
{
	switch (err) {
	case 0:
	case -EEXIST:
	case -EAGAIN:
		return FM_FAULT_RETRY;
	case -EBUSY:
		ask_to_demote(m->file, FM_WHY_PINNED);
		return FM_FAULT_RETRY;
	case -ENOENT: /* UFFDIO_COPY: the mapping is going away */
	case -ESRCH:
		return FM_FAULT_RETRY;
	case -ENOMEM:
		if (short_of_memory() < fm_tune.patience_ms)
			return FM_FAULT_RETRY;
		break;
	default:
		break;
	}
	if (goes_to_kernel(m->file))
		return FM_FAULT_RETRY;
	say_failed(m, i, err);
	return FM_FAULT_BUS;
}

static FM_FAULT void note_seen(struct fm_map *m, uint64_t i, struct range came,
			       uint32_t who)
{
	const struct fm_seen e = { .i = (int64_t)i, .lo = (int64_t)came.lo,
				   .hi = (int64_t)came.hi, .who = who };

	fm_ahead_fault(m, &e);
}

static FM_FAULT bool take_ahead(struct fm_map *m, uint64_t i, uint32_t who)
{
	int64_t first;
	const uint64_t n = fm_ahead_take(m, i, who, &first);

	if (n)
		fm_nearby_streamed(m->file, m->pgoff + (uint64_t)first, n);
	return n;
}

static FM_FAULT enum fm_fault_result fault_in(struct fm_map *m, uintptr_t a,
					      struct access acc)
{
	uint64_t i = (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	struct range came = { i, i + 1 };
	struct fm_file *f = m->file;
	enum fm_fault_result res;
	int err;

	if (acc.write && !(atomic_load(&m->prot) & PROT_WRITE)) {
		if (fault_refuse(m, a, &res))
			return res;
		acc.write = false;
	}
	fm_wait_frozen(f);
	fm_barrier_wait(f, m->pgoff + i);
	fm_fault_around_all(m, i);
	if (atomic_load(p) & FP_AHEAD && take_ahead(m, i, acc.who))
		return FM_FAULT_RETRY;
	fm_map_touch(m, i);
	fm_page_lock(p);
	if (fm_space_find(a) != m || atomic_load(&f->demote->frozen) ||
	    fm_is_shut(f, m->pgoff + i) ||
	    (fm_page_state(p) & FP_AHEAD)) {
		fm_page_unlock(p);
		return FM_FAULT_RETRY;
	}
	err = resolve(m, i, &acc, p, &came);
	fm_page_unlock(p);
	if (err == -EAGAIN)
		fm_page_wait(p, FP_WB);
	if (!err && came.hi > came.lo)
		fm_fault_around_rest(m, i);
	if (!err)
		note_seen(m, i, came, acc.who);
	return to_result(m, i, err);
}

static FM_FAULT void note_time(struct fm_file *f, uint64_t fp, uint64_t ns)
{
	fm_latency_note(ns);
	fm_count(&f->st->spent_ns, ns);
	if (fm_unmapped_back(f, fp))
		fm_count(&f->st->unmapped_ns, ns);
}

static FM_FAULT enum fm_fault_result fault_serve(void *addr, struct access acc)
{
	uintptr_t a = (uintptr_t)addr & ~FM_PAGE_MASK;
	enum fm_fault_result res = FM_FAULT_FOREIGN;
	uint64_t begin = fm_now_ns();
	uint32_t shown = fm_space_shown();
	struct fm_map *m;
	uint64_t fp;
	unsigned e;

	if (fm_fork_touch(a, FM_PAGE))
		return FM_FAULT_RETRY;
	e = fm_epoch_enter();
	m = fm_space_find(a);
	if (m) {
		fp = m->pgoff +
		     ((a - atomic_load(&m->start)) >> FM_PAGE_SHIFT);
		fm_trace(m->file, fp, acc.write);
		res = fault_in(m, a, acc);
		note_time(m->file, fp, fm_now_ns() - begin);
	}
	fm_epoch_leave(e);
	if (!m && (fm_window_avoid(a, FM_PAGE) || fm_space_wait_hidden(shown)))
		return FM_FAULT_RETRY;
	return res;
}

/* Each loop of a thread reads in its own way. */
static FM_FAULT uint32_t fault_hash_of(uintptr_t ip)
{
	return (uint32_t)((fm_arch_thread_pointer() >> 6 ^ ip) * 31);
}

FM_FAULT enum fm_fault_result fm_fault(void *addr, bool write, uintptr_t ip)
{
	return fault_serve(addr, (struct access){ .write = write,
						  .who = fault_hash_of(ip) });
}

FM_FAULT enum fm_fault_result fm_fault_message(void *addr, bool write,
					       uint64_t protects, uint32_t tid)
{
	return fault_serve(addr, (struct access){ .write = write,
						  .told = true,
						  .protects = protects,
						  .who = tid });
}
