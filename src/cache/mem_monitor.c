/* SPDX-License-Identifier: MIT */
#include "mem_monitor.h"

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/shrinker.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine.h"
#include "budget.h"
#include "cache.h"
#include "evictor.h"
#include "file/file.h"
#include "frame.h"
#include "ghost.h"
#include "lazyfree.h"
#include "map/map.h"
#include "memory.h"
#include "policy.h"
#include "tunables.h"
#include "writeback/writeback.h"

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES); /* of the budget */
static struct fm_budget budget;
static uint64_t frames; /* bytes of the budget that are theirs */
static _Atomic uint64_t target;
static _Atomic uint64_t left_before; /* it was resized: pages */
static _Atomic bool too_short;
static _Atomic bool grown;
static _Atomic uint64_t all; /* bytes that others leave, ours included */
static _Atomic uint64_t looped_ms; /* last, and how sure that was */
static _Atomic(enum fm_loops) looped;
static _Atomic uint64_t mapped = UINT64_MAX; /* bytes; until somebody says */

/* A wobble is not worth a pass of eviction. */
static void resize_to(uint64_t bytes)
{
	uint64_t now = fm_cache_limit(), few = fm_budget_wobble(now), pages;

	frames = fm_frame_allow(bytes);
	pages = bytes > frames ? (bytes - frames) / FM_PAGE : 1;
	atomic_store(&target, budget.target);
	if (pages < now - few || pages > now + few)
		fm_cache_resize(pages * FM_PAGE);
	fm_evictor_shrink();
}

static uint64_t mem_monitor_held(void)
{
	return (uint64_t)fm_cache_resident() * FM_PAGE + frames;
}

static uint64_t most_lazy(const struct fm_cache_size *c)
{
	uint64_t lazy = fm_settings()->lazy;

	/* Who said how large the cache is, said it of all. */
	return lazy == FM_SIZE_AUTO && !c->automatic ? 0 : lazy;
}

static void set_shares(const struct fm_cache_size *c)
{
	if (c->automatic)
		fm_budget_auto(&budget);
	fm_budget_most_lazy(&budget, most_lazy(c));
}

static void mem_monitor_begin(const struct fm_cache_size *c)
{
	uint64_t limit = fm_memory_limit();

	FM_HOLD(&lock);
	fm_budget_init(&budget, fm_cache_bytes(c), c->percent, limit);
	set_shares(c);
	resize_to(budget.now);
}

uint64_t fm_mem_monitor_lazy(void)
{
	return most_lazy(&fm_settings()->cache);
}

uint64_t fm_mem_monitor_left(void)
{
	return fm_ghost_left() - atomic_load(&left_before);
}

/* What others left at the last look, some milliseconds ago, holds: who has
 * asked is told the size that comes of it. */
void fm_mem_monitor_set(const struct fm_cache_size *c)
{
	uint64_t bytes = fm_cache_bytes(c);

	FM_HOLD(&lock);
	if (bytes != budget.wanted || c->percent != budget.percent)
		atomic_store(&left_before, fm_ghost_left());
	fm_budget_resize(&budget, bytes, c->percent);
	set_shares(c);
	if (budget.at_ms)
		fm_budget_room(&budget, budget.left, mem_monitor_held(),
			       fm_now_ms());
	resize_to(budget.now);
}

uint64_t fm_mem_monitor_target(void)
{
	return atomic_load(&target);
}

uint64_t fm_mem_monitor_most(void)
{
	const uint64_t now = atomic_load(&target), leave = atomic_load(&all);
	uint64_t most = 0;

	if (fm_settings()->cache.automatic && leave != UINT64_MAX)
		most = leave - leave / fm_tune.budget_margin;
	return most > now ? most : now;
}

bool fm_mem_monitor_grown(void)
{
	return atomic_load(&grown);
}

void fm_mem_monitor_mapped(uint64_t bytes)
{
	atomic_store(&mapped, bytes);
}

uint64_t fm_mem_monitor_all(void)
{
	return atomic_load(&all);
}

uint64_t fm_mem_monitor_room(void)
{
	return fm_least(atomic_load(&mapped), atomic_load(&all));
}

enum fm_loops fm_mem_monitor_loops(void)
{
	uint64_t last = atomic_load(&looped_ms);

	/* It is said again after a row of balances, while it lasts. */
	return last && fm_now_ms() - last < 2 * fm_tune.budget_row *
						    fm_tune.budget_balance_ms ?
		       atomic_load(&looped) : FM_LOOPS_NOT;
}

bool fm_mem_monitor_short(void)
{
	return atomic_load(&too_short);
}

static bool is_left(uint64_t bytes)
{
	return fm_budget_begins(fm_memory_limit(), bytes);
}

/* Who maps over and over where there is not is told so by the last look; who is
 * about to begin may be one of many that do. A size that was given is not
 * judged. */
bool fm_mem_monitor_begins(void)
{
	return fm_life_running() || !fm_settings()->cache.automatic ||
	       (is_left(fm_memory_left_lately()) &&
		is_left(fm_memory_left_now()));
}

/* Where nothing is served any more others need the memory more: where it is
 * just enough, a mebibyte decides. */
static void rest_unless_active(void)
{
	static uint32_t rested; /* since there were so many */
	uint32_t n = atomic_load(&fm_maps_entered);

	if (fm_active() || n == rested)
		return;
	rested = n;
	fm_shrink_idle();
	fm_frame_rest();
}

static void follow_limit(void)
{
	uint64_t limit = fm_memory_limit();

	fm_lock(&lock);
	if (fm_settings()->promote_ms)
		budget.calm_ms = fm_settings()->promote_ms;
	resize_to(fm_budget_step(&budget, limit));
	fm_unlock(&lock);
	if (atomic_load(&target) < limit / fm_tune.budget_reserve)
		fm_shrink_idle();
}

/* A heap's pages are written when they leave (victims.h): all of it is dirty,
 * always, and that hinders nobody until there is next to nothing else. */
static uint64_t dirty_now(bool scarce)
{
	int64_t n = atomic_load(&fm_dirty_total) -
		    (scarce ? 0 : atomic_load(&fm_dirty_heap));

	return n > 0 ? (uint64_t)n * FM_PAGE : 0;
}

/* Not weighed against costs, once a second (mmap/judge.h): there is no memory
 * (FM_VETO_MEMORY), and the next second may be too late. */
static void demote_for_memory(enum fm_server_reason why)
{
	fm_demote_ask_shared(why);
	fm_wb_kick();
}

static void mem_monitor_weigh(void)
{
	struct fm_flow flow = { fm_ghost_evicted(), fm_ghost_came_back(),
				fm_ghost_away() };
	enum fm_loops loops;
	bool starves;

	fm_lock(&lock);
	starves = fm_budget_starves(&budget, flow.evicted);
	loops = fm_budget_loops(&budget, &flow, mem_monitor_held(),
				atomic_load(&mapped));
	fm_unlock(&lock);
	if (starves)
		demote_for_memory(FM_WHY_CACHE_GONE);
	if (!loops)
		return;
	atomic_store(&looped, loops);
	atomic_store(&looped_ms, fm_now_ms());
}

/* Our cache against the page cache. False: nothing of ours has come back. */
static bool balance(void)
{
	uint64_t ours = fm_ghost_came_back(), theirs = fm_memory_refaults("");
	bool busy;

	fm_lock(&lock);
	busy = ours != budget.ours;
	fm_budget_stores(&budget, fm_lazyfree_stores());
	fm_budget_left(&budget, fm_lazyfree_firm(), fm_lazyfree_may());
	resize_to(fm_budget_balance(&budget, mem_monitor_held(), ours, theirs));
	fm_unlock(&lock);
	mem_monitor_weigh();
	return busy;
}

/* Nothing is read where there are to be none. */
static void allow_lazy(bool any)
{
	uint64_t lazy = fm_lazyfree_pages() * FM_PAGE;
	uint64_t free = any ? fm_memory_free("") : 0;

	fm_lock(&lock);
	fm_lazyfree_allow(fm_budget_lazy(&budget, lazy, free));
	fm_unlock(&lock);
	fm_evictor_shrink();
}

/* Nothing has come into the cache or gone since the last look. */
static bool is_unused(void)
{
	static uint64_t resident, evicted;
	const uint64_t r = (uint64_t)fm_cache_resident();
	const uint64_t e = fm_ghost_evicted();
	const bool yes = r == resident && e == evicted;

	resident = r;
	evicted = e;
	return yes;
}

/* Who charges the first page sees that we rest, or we see the page. */
static bool holds_nothing(void)
{
	atomic_store(&fm_mem_rests, true);
	return !fm_cache_resident();
}

/* Milliseconds late. Returns those to wait for the next one. */
static uint64_t adjust_budget(uint64_t late)
{
	uint64_t begin = fm_now_ns(), left = fm_memory_left(""), dirty, ms;
	bool lazy, used, urgent;

	fm_lock(&lock);
	budget.rests = is_unused();
	budget.nothing = holds_nothing();
	fm_budget_late(&budget, late);
	resize_to(
		fm_budget_room(&budget, left, mem_monitor_held(), fm_now_ms()));
	lazy = budget.most_lazy;
	ms = budget.pause_ms;
	atomic_store(&fm_mem_rests, budget.rests || budget.nothing);
	atomic_store(&too_short, fm_budget_short(&budget));
	atomic_store(&grown, budget.grown);
	atomic_store(&all, budget.all);
	used = fm_budget_used(&budget, fm_ghost_evicted());
	dirty = fm_budget_dirty(&budget);
	urgent = fm_budget_drowns(&budget, mem_monitor_held(),
				  dirty_now(fm_budget_short(&budget)));
	fm_unlock(&lock);
	fm_wb_allow(dirty, urgent);
	allow_lazy(lazy);
	if (used && atomic_load(&too_short))
		demote_for_memory(FM_WHY_CACHE_GONE);
	/* Where many groups are counted a look can take long: a twentieth of
	 * a CPU at most. */
	begin = (fm_now_ns() - begin) * 20 / 1000000;
	return ms > begin ? ms : begin;
}

/* Rarely wanted, and then at once: when memory runs out it must not wait for
 * the turns of all who are taking it. Linux 6.12; where not, nothing. */
static void ask_for_short_turns(void)
{
	struct { /* sched_attr, which glibc does not have */
		uint32_t size, policy;
		uint64_t flags;
		uint32_t nice, priority;
		uint64_t runtime, deadline, period;
	} a = { .size = sizeof(a) };

	/* All else as the program has it. */
	if (fm_sys4(SYS_sched_getattr, 0, &a, sizeof(a), 0))
		return;
	a.size = sizeof(a);
	a.runtime = 100000;
	fm_sys3(SYS_sched_setattr, 0, &a, 0);
}

/* Returns by how many milliseconds it took longer. */
static uint64_t mem_monitor_rest(uint64_t until)
{
	static _Atomic bool never;
	uint64_t now = fm_now_ms();

	if (now < until)
		fm_event_sleep_ms(&fm_mem_bell, &never, until - now);
	now = fm_now_ms();
	return now > until ? now - until : 0;
}

static void each_second(void)
{
	FM_UP_EACH(each_second, look)
		look();
}

/* When the next of each is due, in ms. */
struct turns {
	uint64_t look, limit, balance, step, retry;
	bool own;  /* a table of descriptors */
	bool busy; /* pages of ours come back */
	struct fm_kept_files kept;
};

/* What is not there now may be later, but hardly ever is: a group that gets a
 * limit, or is left. */
static void retry(struct turns *t, uint64_t now)
{
	if (now < t->retry)
		return;
	fm_read_retry(&t->kept);
	t->retry = now + 60 * FM_SECOND_MS;
}

/* Without a table of its own it looks as seldom as it must. */
static void mem_monitor_look(struct turns *t, uint64_t late)
{
	uint64_t ms = adjust_budget(late);

	if (fm_now_ms() >= t->limit) {
		follow_limit();
		t->limit = fm_now_ms() + FM_SECOND_MS;
	}
	if (fm_now_ms() >= t->balance) {
		t->busy = balance();
		t->balance = fm_now_ms() + fm_tune.budget_balance_ms;
	}
	if (t->busy)
		ms = fm_least(ms, fm_tune.budget_balance_ms);
	t->look = fm_now_ms() + (t->own ? ms : FM_SECOND_MS);
}

/* While nothing changes the looks at memory are rarer than seconds. */
static void *mem_monitor_watch(void *arg)
{
	static struct turns t;
	uint64_t late = 0, now;

	t = (struct turns){ .own = fm_read_keep(&t.kept) };
	fm_thread_begin("fastmap-room");
	ask_for_short_turns();
	for (;;) {
		now = fm_now_ms();
		retry(&t, now);
		if (atomic_exchange(&fm_mem_woken, false) || now >= t.look)
			mem_monitor_look(&t, late);
		if (now >= t.step) {
			each_second();
			rest_unless_active();
			t.step = fm_now_ms() + FM_SECOND_MS;
		}
		late = mem_monitor_rest(fm_least(t.look, t.step));
	}
	return NULL;
}

static int mem_monitor_start(void)
{
	mem_monitor_begin(&fm_settings()->cache);
	return fm_thread_create(mem_monitor_watch, NULL);
}

static void mem_monitor_reset(void)
{
	fm_lock_reset(&lock);
	fm_event_reset(&fm_mem_bell);
	atomic_store(&too_short, false);
}

FM_LIFE(mem_monitor, .level = FM_LIFE_RUNNING, .start = mem_monitor_start,
	.reset = mem_monitor_reset)
