/* SPDX-License-Identifier: MIT */
#include "lazyfree.h"

#include "base/sys.h"
#include "cache.h"
#include "file/file.h"
#include "ghost.h"
#include "map/map.h"
#include "queue.h"
#include "tunables.h"

#define LOOK 512 /* pages a call of mincore, a byte each on the stack */

#define SMALL 2048 /* size: entries of a queue that is not swept, in 16 KiB */

static struct fm_queue lazy[FM_LAZYFREE_SHARDS];
static struct sweep {
	_Atomic int64_t left; /* entries of this pass */
	_Atomic uint64_t at;  /* a queue so long is swept again */
	_Atomic uint32_t pass;
} sweep[FM_LAZYFREE_SHARDS];
static _Atomic uint64_t allowed; /* pages */
static _Atomic uint64_t stores, firm, may_be;
/* Entries whose page is not lazy any more, as far as that was counted. */
static _Atomic uint64_t stale;

void fm_lazyfree_allow(uint64_t bytes)
{
	atomic_store_explicit(&allowed, bytes >> FM_PAGE_SHIFT,
			      memory_order_relaxed);
}

static FM_FAULT uint64_t lazyfree_most(void)
{
	return atomic_load_explicit(&allowed, memory_order_relaxed);
}

static FM_FAULT uint64_t stale_now(void)
{
	return atomic_load_explicit(&stale, memory_order_relaxed);
}

static FM_FAULT uint64_t lazyfree_less(uint64_t n, uint64_t less)
{
	return n > less ? n - less : 0;
}

FM_FAULT uint64_t fm_lazyfree_entries(void)
{
	uint64_t n = 0;

	for (unsigned s = 0; s < FM_LAZYFREE_SHARDS; s++)
		n += fm_queue_len(&lazy[s]);
	return n;
}

FM_FAULT uint64_t fm_lazyfree_pages(void)
{
	return lazyfree_less(fm_lazyfree_entries(), stale_now());
}

FM_FAULT void fm_lazyfree_stale(void)
{
	uint64_t n = stale_now();

	while (n && !atomic_compare_exchange_weak(&stale, &n, n - 1))
		;
}

FM_FAULT uint64_t fm_lazyfree_room(void)
{
	const uint64_t most = lazyfree_most(), is = fm_lazyfree_pages();

	return most > is ? most - is : 0;
}

uint64_t fm_lazyfree_stores(void)
{
	return atomic_load_explicit(&stores, memory_order_relaxed);
}

uint64_t fm_lazyfree_firm(void)
{
	return atomic_load_explicit(&firm, memory_order_relaxed);
}

uint64_t fm_lazyfree_may(void)
{
	return atomic_load_explicit(&may_be, memory_order_relaxed);
}

FM_FAULT bool fm_lazyfree_over(void)
{
	return fm_lazyfree_pages() > lazyfree_most();
}

/* Not what a child of fork shares (a private mapping, which it finds without
 * userfaultfd), nor what another mapping may be stored to. */
FM_FAULT bool fm_lazyfree_wanted(struct fm_map *m, uint64_t i,
				 _Atomic uint8_t *p)
{
	const bool may = m->shared && !atomic_load(&m->aliased) &&
			 !(fm_page_state(p) & FP_DIRTY) &&
			 !(fm_mode(m, i) & PM_WRITABLE);

	fm_count(may ? &may_be : &firm, 1);
	return may && lazyfree_most();
}

FM_FAULT void fm_lazyfree_push(unsigned shard, uint64_t entry)
{
	fm_queue_push(&lazy[shard], entry);
}

FM_FAULT bool fm_lazyfree_pop(unsigned shard, unsigned shards, uint64_t *ret)
{
	const uint64_t n = fm_queue_len(&lazy[shard]);

	return lazyfree_less(n, stale_now() / shards) >
		       lazyfree_most() / shards &&
	       fm_queue_pop(&lazy[shard], ret);
}

FM_FAULT bool fm_lazyfree_sweep(unsigned shard, uint64_t *ret, uint8_t *mark)
{
	struct sweep *w = &sweep[shard];
	uint64_t len = fm_queue_len(&lazy[shard]);
	int64_t left = atomic_load(&w->left);

	if (left <= 0) {
		if (len < SMALL || len < atomic_load(&w->at) ||
		    !atomic_compare_exchange_strong(&w->left, &left,
						    (int64_t)len))
			return false;
		atomic_fetch_add(&w->pass, 1);
	}
	if (atomic_fetch_sub(&w->left, 1) == 1)
		atomic_store(&w->at, 2 * len);
	*mark = atomic_load(&w->pass) % 2 ? PM_QUEUED : PM_MAIN;
	return fm_queue_pop(&lazy[shard], ret);
}

/* Remembered as one that was evicted; its entry stays behind. */
static FM_FAULT void lazyfree_leaves(struct fm_map *m, uint64_t i)
{
	fm_ghost_add(m, i);
	fm_count(&stale, 1);
}

static FM_FAULT void drop_lazy(struct fm_map *m, uint64_t i)
{
	fm_cache_drop(m, i, 1);
	lazyfree_leaves(m, i);
	fm_ghost_pass(1);
}

/* How many pages before page i have been brought in, and are still there. */
static FM_FAULT uint64_t lazyfree_come(struct fm_map *m, uint64_t i)
{
	uint64_t n = 0;

	while (n < i && n < LOOK && fm_mode_resident(fm_mode(m, i - 1 - n)))
		n++;
	return n;
}

FM_FAULT void fm_lazyfree_pass(struct fm_map *m, uint64_t i, bool store)
{
	uint64_t n = lazyfree_come(m, i), end = fm_map_pages(m), k;
	struct fm_zap_batch d = { .n = 0 };

	drop_lazy(m, i);
	if (store)
		fm_count(&stores, 1);
	if (end > i + 1 + n)
		end = i + 1 + n;
	for (k = i + 1; k < end; k++) {
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + k);

		if (!fm_mode_lazy(fm_mode(m, k)) || !fm_page_trylock(p))
			break;
		if (!fm_map_current(m, k) || !fm_mode_lazy(fm_mode(m, k))) {
			fm_page_unlock(p);
			break;
		}
		lazyfree_leaves(m, k);
		fm_zap_page(&d, m, k);
	}
	fm_zap_now(&d);
	fm_ghost_pass(k - i - 1);
}

FM_FAULT bool fm_lazyfree_tells(void)
{
	return fm_uffd_caps()->user_only && !fm_sys_confined();
}

FM_FAULT bool fm_lazyfree_take(struct fm_map *m, uint64_t i, void *buf)
{
	if (fm_sys_vm_copy(SYS_process_vm_readv, buf, fm_map_addr(m, i),
			   FM_PAGE) != FM_PAGE)
		return false;
	drop_lazy(m, i);
	fm_count(&stores, 1);
	return true;
}

static FM_FAULT bool lazyfree_any(struct fm_map *m, uint64_t i, uint64_t n)
{
	for (uint64_t k = i; k < i + n; k++)
		if (fm_mode_lazy(fm_mode(m, k)))
			return true;
	return false;
}

/* What is gone stays so until somebody installs the page, under its lock.
 * Dropped all the same: it may have come, and been evicted again. */
static FM_FAULT bool find_gone(struct fm_map *m, uint64_t i)
{
	if (!fm_map_current(m, i) || !fm_mode_lazy(fm_mode(m, i)))
		return false;
	fm_count(&m->file->st->lazy_lost, 1);
	return true;
}

/* Of another page than the one whose lock is ours. */
static FM_FAULT void drop_gone(struct fm_zap_batch *d, struct fm_map *m,
			       uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	if (!fm_page_trylock(p))
		return;
	if (!find_gone(m, i)) {
		fm_page_unlock(p);
		return;
	}
	lazyfree_leaves(m, i);
	fm_ghost_pass(1);
	fm_zap_page(d, m, i);
}

static FM_FAULT void lazyfree_drop_taken(struct fm_map *m, uint64_t i,
					 uint64_t n, uint64_t mine)
{
	unsigned char there[LOOK];
	struct fm_zap_batch d = { .n = 0 };

	if (!lazyfree_any(m, i, n) ||
	    fm_sys3(SYS_mincore, fm_map_addr(m, i), n << FM_PAGE_SHIFT, there))
		return;
	for (uint64_t k = 0; k < n; k++)
		if (!(there[k] & 1) && i + k != mine &&
		    fm_mode_lazy(fm_mode(m, i + k)))
			drop_gone(&d, m, i + k);
	fm_zap_now(&d);
	if (mine - i < n && !(there[mine - i] & 1) && find_gone(m, mine))
		drop_lazy(m, mine);
}

FM_FAULT void fm_lazyfree_look(struct fm_map *m, uint64_t i, uint64_t n,
			   uint64_t mine)
{
	uint64_t end = i + n;

	if (!fm_lazyfree_pages() || fm_sys_confined()) /* mincore may end it */
		return;
	if (end > fm_map_pages(m))
		end = fm_map_pages(m);
	for (; i < end; i += LOOK)
		lazyfree_drop_taken(m, i, end - i < LOOK ? end - i : LOOK,
				    mine);
}

void fm_lazyfree_reset(void)
{
	for (unsigned s = 0; s < FM_LAZYFREE_SHARDS; s++) {
		lazy[s] = (struct fm_queue){ .head = NULL };
		atomic_store(&sweep[s].left, 0);
		atomic_store(&sweep[s].at, 0);
	}
	atomic_store(&stale, 0);
}
