/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/thread.h"
#include "map/map.h"
#include "policy.h"
#include "tunables.h"

#define MAX_FRAMES (FM_FRAMES + FM_STANDBY)
#define SPARE 8 /* size: slots: units on their way in and out of standby */

static struct fm_frame frames[MAX_FRAMES];
static struct fm_frame *full, *hollow;
static _Atomic unsigned held; /* frames with memory, without standby */
static unsigned most_held; /* as of the start */
static _Atomic unsigned may_hold;
/* As many as transfers could fill, in this second and in the one before. */
static _Atomic unsigned wished, wished_before;
static uint64_t wished_ms; /* when this one began */
static _Atomic unsigned nfull; /* on the list */
static _Atomic bool wanted; /* by a thread that cannot make one */
static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
/* What a frame costs in fresh memory, and what copying out of it costs:
 * running means of what was measured. Where the host of a virtual machine has
 * taken back free memory, the first touch of 2 MiB takes milliseconds. */
static _Atomic uint64_t fresh_ns, copy_ns = 700000;
/* Spent on copies that a move would have saved, ns; and frames bought for that,
 * which may be moved. */
static _Atomic uint64_t spent;
static _Atomic unsigned bought;

FM_FAULT bool fm_frame_on(void)
{
	return frames[0].mem != NULL;
}

FM_FAULT uint64_t fm_frame_lent(void)
{
	const int64_t room =
		(int64_t)fm_cache_limit() - fm_cache_resident();

	return room > 0 ? (uint64_t)room / 2 / FM_HUGE_PAGES : 0;
}

static FM_FAULT uint64_t wished_lately(void)
{
	const unsigned now = atomic_load(&wished),
		       before = atomic_load(&wished_before);

	return now > before ? now : before;
}

/* As many as are wished for, while the cache has room for them. */
FM_FAULT uint64_t fm_frame_limit(void)
{
	const uint64_t own = may_hold - may_hold / 4, wish = wished_lately();
	const uint64_t most = fm_least(wish - wish / 4, own + fm_frame_lent());

	if (!fm_frame_on())
		return 0;
	return most > own ? most : own;
}

/* The right to have memory in one frame more. What is evicted or bought may
 * fill all; a quarter is not filled with other fresh memory, which costs its
 * zeroing: another thread is about to evict. */
static FM_FAULT bool frame_hold(bool some)
{
	bool ok;

	fm_lock(&lock);
	ok = held < (some ? fm_frame_limit() : may_hold);
	held += ok;
	fm_unlock(&lock);
	return ok;
}

static FM_FAULT void unhold(void)
{
	fm_lock(&lock);
	held--;
	fm_unlock(&lock);
}

FM_FAULT void fm_frame_gone(struct fm_frame *fr)
{
	if (!fr->standby)
		unhold();
	fr->full = fr->standby = false;
}

static FM_FAULT bool map_slot(struct fm_frame *fr)
{
	void *p = fm_sys_mmap(fr->mem, FM_HUGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
				      MAP_NORESERVE, -1, 0);

	fr->mapped = false;
	if (p != fr->mem)
		return false;
	fm_sys_madvise(p, FM_HUGE, MADV_HUGEPAGE);
	fm_sys_madvise(p, FM_HUGE, MADV_DONTFORK);
	/* Merged pages do not move. */
	fm_sys_madvise(p, FM_HUGE, MADV_UNMERGEABLE);
	return true;
}

/* Only what is registered can be moved to and from. */
static FM_FAULT bool register_slot(struct fm_frame *fr)
{
	fr->mapped = fm_uffd_register_moves(fr->mem, FM_HUGE) == 0;
	return fr->mapped;
}

static FM_FAULT void learn(_Atomic uint64_t *mean, uint64_t ns)
{
	uint64_t old = atomic_load(mean);

	atomic_store(mean, old ? old - old / 4 + ns / 4 : ns);
}

/* A fresh huge page: populated before it is registered, because a touch of
 * registered memory would be a fault of ours. */
static FM_FAULT bool frame_refill(struct fm_frame *fr)
{
	uint64_t from = fm_now_ns();

	if (!map_slot(fr))
		return false;
	for (size_t at = 0; at < FM_HUGE; at += FM_PAGE)
		((volatile char *)fr->mem)[at] = 0;
	learn(&fresh_ns, fm_now_ns() - from);
	fr->full = register_slot(fr);
	return fr->full;
}

int fm_frame_start(unsigned n, unsigned standby)
{
	char *arena;
	uintptr_t a;

	most_held = n < FM_FRAMES ? n : FM_FRAMES;
	atomic_store(&may_hold, most_held);
	standby += SPARE;
	n = most_held + (standby < FM_STANDBY ? standby : FM_STANDBY);
	if (!most_held || !fm_uffd_caps()->move || fm_frame_on())
		return 0;
	arena = fm_sys_far((n + 1) * FM_HUGE, PROT_NONE);
	if ((uintptr_t)arena >= (uintptr_t)-4095)
		return -ENOMEM;
	a = ((uintptr_t)arena + FM_HUGE - 1) & ~(FM_HUGE - 1);
	for (unsigned i = 0; i < n; i++) {
		frames[i].mem = (char *)a + i * FM_HUGE;
		frames[i].full = frames[i].mapped = false;
		frames[i].standby = false;
		fm_frame_put(&frames[i]);
	}
	return 0;
}

static void frame_reset(void)
{
	full = hollow = NULL;
	held = 0;
	atomic_store(&nfull, 0);
	atomic_store(&bought, 0);
	atomic_store(&spent, 0);
	atomic_store(&wanted, false);
	atomic_store(&wished, 0);
	atomic_store(&wished_before, 0);
	for (int i = 0; i < MAX_FRAMES; i++)
		frames[i].mem = NULL;
	fm_lock_reset(&lock);
}

static FM_FAULT struct fm_frame *pop(struct fm_frame **list)
{
	struct fm_frame *fr;

	fm_lock(&lock);
	fr = *list;
	if (fr) {
		*list = fr->next;
		if (list == &full)
			atomic_fetch_sub(&nfull, 1);
	}
	fm_unlock(&lock);
	return fr;
}

unsigned fm_frame_share(uint64_t cache_bytes)
{
	return (unsigned)fm_least(cache_bytes / 16 / FM_HUGE, FM_FRAMES);
}

/* Memory of frames that wait for a use goes; that of others when they do. */
static void frame_trim(unsigned n)
{
	struct fm_frame *fr;

	while (atomic_load(&held) > n && (fr = pop(&full)) != NULL) {
		fm_uffd_drop(fr->mem, FM_HUGE);
		fm_frame_gone(fr);
		fm_frame_put(fr);
	}
}

void fm_frame_rest(void)
{
	frame_trim(0);
}

/* Of a cache of that size. As much as streams may have ahead (ahead.c). */
static unsigned frame_most(uint64_t cache_bytes)
{
	return (unsigned)fm_least(cache_bytes / 8 / FM_HUGE, FM_FRAMES);
}

/* A quarter is not filled with fresh memory. */
FM_FAULT void fm_frame_wish(uint64_t n)
{
	n = fm_least(n + n / 3, FM_FRAMES);
	if (n > atomic_load_explicit(&wished, memory_order_relaxed))
		atomic_store_explicit(&wished, (unsigned)n,
				      memory_order_relaxed);
}

static void wishes_age(void)
{
	const uint64_t now = fm_now_ms();

	if (now - wished_ms < FM_SECOND_MS)
		return;
	wished_ms = now;
	atomic_store(&wished_before, atomic_exchange(&wished, 0));
}

/* The share is what any device needs. One that is far away needs more, and only
 * while something is read in order. */
static unsigned due(uint64_t cache_bytes)
{
	const unsigned wish = (unsigned)wished_lately(),
		       most = frame_most(cache_bytes);
	const unsigned n = fm_frame_share(cache_bytes);

	return wish <= n ? n : wish < most ? wish : most;
}

uint64_t fm_frame_allow(uint64_t cache_bytes)
{
	unsigned n, now = atomic_load(&may_hold);

	if (!fm_frame_on())
		return 0;
	wishes_age();
	n = due(cache_bytes);
	n = n < most_held ? n : most_held;
	if (n > now || n < now - now / 4)
		atomic_store(&may_hold, now = n);
	frame_trim(now);
	return (uint64_t)now * FM_HUGE;
}

/* Fresh memory for one frame more. */
static FM_FAULT struct fm_frame *frame_make(bool some)
{
	struct fm_frame *fr;

	if (!frame_hold(some))
		return NULL;
	fr = pop(&hollow);
	if (fr && frame_refill(fr))
		return fr;
	unhold();
	if (fr)
		fm_frame_put(fr);
	return NULL;
}

static FM_FAULT void tell_wanted(void)
{
	FM_UP_EACH(frame_wanted, tell)
		tell();
}

FM_FAULT struct fm_frame *fm_frame_get(void)
{
	struct fm_frame *fr = pop(&full);

	if (fr || !fm_thread_without_fds())
		return fr ? fr : frame_make(true);
	/* What is fresh has to be registered, by who has the descriptor. */
	if (!atomic_exchange(&wanted, true))
		tell_wanted();
	return NULL;
}

void fm_frame_make_wanted(void)
{
	struct fm_frame *fr =
		atomic_exchange(&wanted, false) ? frame_make(true) : NULL;

	if (fr)
		fm_frame_put(fr);
}

FM_FAULT struct fm_frame *fm_frame_get_hollow(void)
{
	struct fm_frame *fr = pop(&hollow);

	if (!fr || fr->mapped || (map_slot(fr) && register_slot(fr)))
		return fr;
	fm_frame_put(fr);
	return NULL;
}

/* From the cache to the transfers, if they may hold more memory. */
static FM_FAULT void end_standby(struct fm_frame *fr)
{
	if (!frame_hold(false)) {
		fm_uffd_drop(fr->mem, FM_HUGE);
		fr->full = false;
	}
	fr->standby = false;
}

/* A page table that is left over at the target, empty, would make the kernel
 * split the huge page. Linux from 6.14 on frees it when all of its range is
 * dropped. */
FM_FAULT int fm_frame_move(void *dst, void *src)
{
	fm_uffd_drop(dst, FM_HUGE);
	return fm_uffd_move(dst, src, FM_HUGE);
}

FM_FAULT bool fm_frame_fill(struct fm_frame *fr, struct fm_map *m, uint64_t i)
{
	int err = fm_frame_move(fr->mem, fm_map_addr(m, i));

	if (err == -EXDEV)
		fm_uffd_drop(fr->mem, FM_HUGE);
	fr->full = err == 0;
	return fr->full;
}

FM_FAULT void fm_frame_put(struct fm_frame *fr)
{
	struct fm_frame **list;

	if (fr->standby)
		end_standby(fr);
	list = fr->full ? &full : &hollow;
	fm_lock(&lock);
	fr->next = *list;
	*list = fr;
	if (list == &full)
		atomic_fetch_add(&nfull, 1);
	fm_unlock(&lock);
}

FM_FAULT void fm_frame_take(struct fm_map *m, uint64_t i)
{
	bool may = frame_hold(false);
	struct fm_frame *fr = may ? fm_frame_get_hollow() : NULL;

	if (!fr || !fm_frame_fill(fr, m, i))
		fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
	if (may && !(fr && fr->full))
		unhold();
	if (fr)
		fm_frame_put(fr);
}

/* As far as there was something. */
static void paid(uint64_t ns)
{
	uint64_t had = atomic_load(&spent);

	while (!atomic_compare_exchange_weak(&spent, &had,
					     had > ns ? had - ns : 0))
		;
}

struct fm_frame *fm_frame_get_huge(void)
{
	struct fm_frame *fr = pop(&hollow);

	if (!fr)
		return NULL;
	fr->standby = true;
	if (frame_refill(fr) &&
	    fm_sys_madvise(fr->mem, FM_HUGE, MADV_COLLAPSE) == 0) {
		paid(atomic_load(&fresh_ns));
		return fr;
	}
	fm_uffd_drop(fr->mem, FM_HUGE);
	fm_frame_gone(fr);
	fm_frame_put(fr);
	return NULL;
}

/* ---- to move or to copy ------------------------------------------------- */

FM_FAULT void fm_frame_copied(uint64_t ns)
{
	learn(&copy_ns, ns);
}

static FM_FAULT bool take_bought(void)
{
	unsigned n = atomic_load(&bought);

	while (n && !atomic_compare_exchange_weak(&bought, &n, n - 1))
		;
	return n > 0;
}

static FM_FAULT void spend(uint64_t ns)
{
	uint64_t price = atomic_load(&fresh_ns);

	if (atomic_load(&spent) < price)
		atomic_fetch_add(&spent, ns);
	if (atomic_load(&spent) >= price)
		tell_wanted();
}

/* Evicted memory waits for a use, or will find no room. */
static FM_FAULT bool plenty(void)
{
	return atomic_load(&nfull) > may_hold / 4 ||
	       atomic_load(&held) >= may_hold;
}

FM_FAULT bool fm_frame_pays(void)
{
	uint64_t copy = atomic_load(&copy_ns);

	if (atomic_load(&fresh_ns) <= copy || take_bought() || plenty())
		return true;
	spend(copy);
	return false;
}

bool fm_frame_buy(void)
{
	uint64_t price = atomic_load(&fresh_ns);
	struct fm_frame *fr;

	if (!price || atomic_load(&spent) < price)
		return false;
	fr = frame_make(false);
	if (!fr)
		return false;
	paid(price);
	fm_frame_put(fr);
	atomic_fetch_add(&bought, 1);
	return true;
}

/* Out of the budget of the cache. */
static int frame_start(void)
{
	uint64_t cache = fm_cache_bytes(&fm_settings()->cache);
	const unsigned n = fm_frame_share(cache);
	const uint64_t rest = cache - n * FM_HUGE;
	int err = fm_frame_start(n ? frame_most(cache) : 0,
				 (unsigned)(rest / 8 / FM_HUGE));

	atomic_store(&may_hold, n);
	return err;
}

FM_LIFE(frame, .level = FM_LIFE_MEMORY, .start = frame_start,
	.reset = frame_reset)
