/* SPDX-License-Identifier: MIT */
/*
 * shares.c - the order, when the cache is full:
 *
 *   1. the file that is furthest above its share, relatively
 *   2. files of low priority, then those that stream (streaming.h), then
 *      normal, then high ones. Those of a class give in turns, by how much they
 *      have; a file that has no more than its floor gives nothing
 *   3. pinned pages
 *
 * Nobody gets all of it: what is not protected keeps an eighth of the cache,
 * for an instruction that uses three pages must find room for three, and who
 * streams needs some to read ahead. So floors are scaled down to 7/8 in sum,
 * and a class makes room only while it and those before it have more than that
 * eighth. The two that make room first keep a sixteenth each, for the second
 * pass over what is short.
 */
#include "shares.h"

#include "base/file_part.h"
#include "base/life.h"
#include "base/log.h"
#include "cache.h"
#include "evict_queues.h"
#include "file/file.h"
#include "policy.h"
#include "probe.h"
#include "tunables.h"

FM_FILE_PART(shares)

#define TOUCHED 2 /* size: pages, that an instruction touches */
#define MINUTE_MS 60000 /* unit: of `pin = minute` */

/* Files with a pool of their own. In an epoch. */
static _Atomic(struct fm_file *) owner[FM_EVICT_POOLS];
static _Atomic bool any;
static _Atomic uint64_t streamed; /* pages, of all files */

/* ---- what a file may have ---------------------------------------------- */

static FM_FAULT const struct fm_policy *
shares_policy_of(const struct fm_file *f)
{
	return atomic_load_explicit(&f->shares->policy, memory_order_acquire);
}

static FM_FAULT uint64_t part_pages(const struct fm_cache_part *p)
{
	return p->percent ? fm_cache_limit() * p->percent / 100 :
			    p->bytes >> FM_PAGE_SHIFT;
}

/* What f needs not is not kept for it. */
static FM_FAULT uint64_t wanted_floor(const struct fm_file *f)
{
	uint64_t size = (uint64_t)atomic_load(&f->size) + FM_PAGE_MASK;

	if (fm_kernel_serves(f))
		return 0;
	return fm_least(part_pages(&shares_policy_of(f)->cache_floor),
			size >> FM_PAGE_SHIFT);
}

static FM_FAULT uint64_t most_floors(void)
{
	return fm_cache_limit() - fm_cache_limit() / fm_tune.shares_reserve;
}

static FM_FAULT uint64_t sum_floors(void)
{
	uint64_t sum = 0;

	for (unsigned p = FM_POOL_OWN; p < fm_evict_pools(); p++) {
		const struct fm_file *f = atomic_load(&owner[p]);

		sum += f ? wanted_floor(f) : 0;
	}
	return sum;
}

/* 1024: all of it. */
static FM_FAULT uint64_t floor_scale(void)
{
	uint64_t sum = sum_floors(), most = most_floors();

	return sum > most ? most * 1024 / sum : 1024;
}

static FM_FAULT uint64_t floor_of(const struct fm_file *f, uint64_t scale)
{
	return wanted_floor(f) * scale / 1024;
}

static FM_FAULT uint64_t share_of(const struct fm_file *f, uint64_t scale)
{
	uint64_t share = part_pages(&shares_policy_of(f)->cache_share);
	uint64_t floor = floor_of(f, scale);

	return share > floor ? share : floor;
}

/* ---- who makes room ---------------------------------------------------- */

/* Classes in their order; the last are those with no more than their floor. */
enum { LOW, STREAMED, NORMAL, HIGH, PINNED, FLOOR, CLASSES };

struct view {
	unsigned pools;
	uint64_t asked;
	uint64_t scale;
	uint64_t pages[FM_EVICT_POOLS]; /* of the shard */
	uint8_t class[FM_EVICT_POOLS];
	uint64_t sum[CLASSES]; /* of all shards: one has a few units or none */
	uint64_t most;
};

static const uint8_t of_priority[] = {
	[FM_PRIORITY_LOW] = LOW,
	[FM_PRIORITY_NORMAL] = NORMAL,
	[FM_PRIORITY_HIGH] = HIGH,
};

static FM_FAULT unsigned class_of_own(const struct fm_file *f, uint64_t scale)
{
	if ((uint64_t)fm_cache_of(f) <= floor_of(f, scale))
		return FLOOR;
	return of_priority[shares_policy_of(f)->priority];
}

static FM_FAULT unsigned shares_class_of(unsigned pool, uint64_t scale)
{
	static const uint8_t shared[FM_POOL_OWN] = {
		[FM_POOL_NORMAL] = NORMAL,
		[FM_POOL_STREAMED] = STREAMED,
		[FM_POOL_LOW] = LOW,
		[FM_POOL_HIGH] = HIGH,
		[FM_POOL_PINNED] = PINNED,
	};
	const struct fm_file *f;

	if (pool < FM_POOL_OWN)
		return shared[pool];
	f = atomic_load(&owner[pool]);
	/* What is left of a file that was closed names no page any more. */
	return f ? class_of_own(f, scale) : LOW;
}

static FM_FAULT uint64_t pages_in(unsigned shards, unsigned pool)
{
	uint64_t n = 0;

	for (unsigned s = 0; s < shards; s++)
		n += fm_evict_pages(s, pool);
	return n;
}

static FM_FAULT void shares_look(struct view *v, unsigned shard,
				 unsigned shards)
{
	v->pools = fm_evict_pools();
	v->scale = floor_scale();
	for (unsigned c = 0; c < CLASSES; c++)
		v->sum[c] = 0;
	for (unsigned p = 0; p < v->pools; p++) {
		v->pages[p] = fm_evict_pages(shard, p);
		v->class[p] = (uint8_t)shares_class_of(p, v->scale);
		v->sum[v->class[p]] += pages_in(shards, p);
	}
}

static FM_FAULT bool shares_may_ask(const struct view *v, unsigned p)
{
	return v->pages[p] && !(v->asked >> p & 1);
}

/* How much more than its share it has, 1024: just that. */
static FM_FAULT uint64_t excess(const struct view *v, unsigned p)
{
	const struct fm_file *f = atomic_load(&owner[p]);
	uint64_t share, has;

	if (!f || v->class[p] == FLOOR)
		return 0;
	share = share_of(f, v->scale);
	has = (uint64_t)fm_cache_of(f);
	return share ? has * 1024 / share : UINT64_MAX;
}

static FM_FAULT unsigned above_share(const struct view *v)
{
	unsigned found = FM_EVICT_POOLS;
	uint64_t most = 1024;

	for (unsigned p = FM_POOL_OWN; p < v->pools; p++)
		if (shares_may_ask(v, p) && excess(v, p) > most) {
			most = excess(v, p);
			found = p;
		}
	return found;
}

/* One pool of the class, in turns, by how much they have. */
static FM_FAULT unsigned one_of(const struct view *v, unsigned shard,
				unsigned class)
{
	uint64_t all = 0, at;

	for (unsigned p = 0; p < v->pools; p++)
		if (v->class[p] == class && shares_may_ask(v, p))
			all += v->pages[p];
	if (!all)
		return FM_EVICT_POOLS;
	at = fm_evict_step(shard, all);
	for (unsigned p = 0; p < v->pools; p++) {
		if (v->class[p] != class || !shares_may_ask(v, p))
			continue;
		if (at < v->pages[p])
			return p;
		at -= v->pages[p];
	}
	return FM_EVICT_POOLS;
}

/* Nothing but protected pages, or next to nothing. */
static FM_FAULT unsigned protected_one(const struct view *v, unsigned shard)
{
	static const uint8_t order[] = { HIGH, PINNED, NORMAL, STREAMED,
					 LOW, FLOOR };
	unsigned p = FM_EVICT_POOLS;

	for (size_t k = 0; k < sizeof(order) && p == FM_EVICT_POOLS; k++)
		p = one_of(v, shard, order[k]);
	return p;
}

/* But for what it needs to go on. */
static FM_FAULT bool goes_first(const struct view *v, unsigned class)
{
	return v->sum[class] > fm_cache_limit() / fm_tune.shares_first;
}

static FM_FAULT bool streamed_first(const struct view *v)
{
	return goes_first(v, STREAMED) &&
	       !(v->asked >> FM_POOL_STREAMED & 1);
}

/* What streams makes room; now and then something else is tried. */
static FM_FAULT unsigned streamed_one(struct view *v, unsigned shard)
{
	const uint64_t may = v->sum[NORMAL] && !v->asked ? fm_probe_may() : 0;
	unsigned p = may ? one_of(v, shard, NORMAL) : FM_EVICT_POOLS;

	if (p == FM_EVICT_POOLS)
		return one_of(v, shard, STREAMED);
	v->most = may;
	return p;
}

/* A class that has something, and nothing in this shard or nothing that can
 * leave, does not bring it upon the next: other shards have some, and what is
 * dirty is written sooner than what is protected goes. */
static FM_FAULT unsigned shares_choose(struct view *v, unsigned shard,
				       uint64_t reserve)
{
	uint64_t open = v->sum[LOW] + v->sum[STREAMED] + v->sum[NORMAL];
	unsigned p = above_share(v);

	if (p == FM_EVICT_POOLS && goes_first(v, LOW))
		p = one_of(v, shard, LOW);
	if (p < FM_EVICT_POOLS)
		return p;
	if (streamed_first(v))
		return streamed_one(v, shard);
	if (open > reserve) {
		p = one_of(v, shard, NORMAL);
		return p < FM_EVICT_POOLS ? p : one_of(v, shard, STREAMED);
	}
	if (open + v->sum[HIGH] > reserve)
		return one_of(v, shard, HIGH);
	return v->asked ? FM_EVICT_POOLS : protected_one(v, shard);
}

static FM_FAULT unsigned long kib(uint64_t pages)
{
	return (unsigned long)(pages * FM_PAGE >> 10);
}

/* It is not what was asked for, and the program is slower for it. */
static FM_FAULT void say_pinned(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		fm_log(FM_LOG_WARN,
		       "cache: pinned pages make room, for they fill 7/8 of "
		       "it (%lu KiB); pin less, or raise FASTMAP_CACHE",
		       kib(fm_cache_limit()));
}

static FM_FAULT void say_floors(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		fm_log(FM_LOG_WARN,
		       "cache: floors of %lu KiB are scaled down, for the "
		       "cache has %lu; lower them, or raise FASTMAP_CACHE",
		       kib(sum_floors()), kib(fm_cache_limit()));
}

FM_FAULT unsigned fm_shares_victim(unsigned shard, unsigned shards,
				   uint64_t asked, uint64_t *ret_most)
{
	struct view v = { .asked = asked, .most = UINT64_MAX };
	uint64_t reserve = fm_cache_limit() / fm_tune.shares_reserve;
	unsigned p;

	*ret_most = UINT64_MAX;
	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return asked ? FM_EVICT_POOLS : FM_POOL_NORMAL;
	shares_look(&v, shard, shards);
	p = shares_choose(&v, shard, reserve < TOUCHED ? TOUCHED : reserve);
	*ret_most = v.most;
	if (p == FM_POOL_PINNED)
		say_pinned();
	if (v.scale < 1024)
		say_floors();
	return p;
}

FM_FAULT bool fm_shares_rests(unsigned pool)
{
	const struct fm_file *f;

	if (pool < FM_POOL_OWN)
		return pool != FM_POOL_LOW;
	f = atomic_load(&owner[pool]);
	return f && shares_policy_of(f)->priority != FM_PRIORITY_LOW &&
	       (uint64_t)fm_cache_of(f) <= share_of(f, 1024);
}

/* ---- pages ------------------------------------------------------------- */

/* The word of the bits of fp, which has a leaf. */
static FM_FAULT _Atomic uint64_t *pin_word(struct fm_file *f, uint64_t fp)
{
	struct fm_leaf *l = fm_leaf_of(f, fp);

	return l ? &l->pinned[(fp & (FM_LEAF_PAGES - 1)) / 64] : NULL;
}

static FM_FAULT void pin_note(struct fm_file *f, uint64_t fp)
{
	_Atomic uint64_t *w = pin_word(f, fp);
	uint64_t bit = 1ull << (fp & 63);

	if (w && !(atomic_load_explicit(w, memory_order_relaxed) & bit))
		atomic_fetch_or(w, bit);
}

static void pin_forget(struct fm_file *f, uint64_t fp)
{
	_Atomic uint64_t *w = pin_word(f, fp);

	if (w)
		atomic_fetch_and(w, ~(1ull << (fp & 63)));
}

/* Entries that are in another pool move when their turn comes (cache.c). */
void fm_shares_pin(struct fm_file *f, uint64_t fp, uint64_t n, bool pin)
{
	for (uint64_t k = fp; k < fp + n; k++)
		pin ? pin_note(f, k) : pin_forget(f, k);
	if (pin) {
		atomic_store(&f->shares->asked, true);
		atomic_store(&any, true);
	}
}

static bool pin_asked(struct fm_file *f, uint64_t fp)
{
	_Atomic uint64_t *w = pin_word(f, fp);

	return w && atomic_load_explicit(w, memory_order_relaxed) >> (fp & 63) &
			    1;
}

/* Words of none are passed as one. */
bool fm_shares_pins(struct fm_file *f, uint64_t fp, uint64_t stop,
		    uint64_t *ret_fp, uint64_t *ret_n)
{
	uint64_t end;

	if (!atomic_load(&f->shares->asked))
		return false;
	while (fp < stop && !pin_asked(f, fp)) {
		_Atomic uint64_t *w = pin_word(f, fp);

		fp = w && atomic_load(w) ? fp + 1 : (fp | 63) + 1;
	}
	for (end = fp; end < stop && pin_asked(f, end); end++)
		;
	*ret_fp = fp;
	*ret_n = end - fp;
	return fp < stop;
}

void fm_shares_forked(struct fm_file *f)
{
	atomic_store(&f->shares->asked, false);
}

FM_FAULT void fm_shares_come(struct fm_file *f, uint64_t fp, uint64_t n)
{
	const struct fm_policy *policy;

	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return;
	policy = shares_policy_of(f);
	if (!policy || policy->pin != FM_PIN_MINUTE ||
	    fm_now_ms() - f->shares->since_ms >= MINUTE_MS)
		return;
	for (uint64_t k = fp; k < fp + n; k++)
		pin_note(f, k);
}

FM_FAULT bool fm_shares_pinned(struct fm_file *f, uint64_t fp)
{
	const struct fm_policy *policy = shares_policy_of(f);
	const uint64_t pin = policy ? policy->pin : 0;
	_Atomic uint64_t *w;

	if (pin && pin != FM_PIN_MINUTE && fp << FM_PAGE_SHIFT < pin)
		return true;
	if (pin != FM_PIN_MINUTE &&
	    !atomic_load_explicit(&f->shares->asked, memory_order_relaxed))
		return false;
	w = pin_word(f, fp);
	return w && atomic_load_explicit(w, memory_order_relaxed) >>
			    (fp & 63) & 1;
}

/* Is f's reader on its way? Else what is there of it is like other files': in
 * use, perhaps. Once others have streamed as much as all may have, it has
 * paused. */
static FM_FAULT bool shares_streams_now(const struct fm_file *f)
{
	const uint64_t at = atomic_load_explicit(&f->shares->streamed,
						 memory_order_relaxed);
	const uint64_t all = atomic_load_explicit(&streamed,
						  memory_order_relaxed);

	return all < at + fm_cache_limit() / fm_tune.shares_first;
}

FM_FAULT void fm_shares_streamed(struct fm_file *f, uint64_t n)
{
	fm_count(&streamed, n);
	atomic_store_explicit(&f->shares->streamed,
			      atomic_load_explicit(&streamed,
						   memory_order_relaxed),
			      memory_order_relaxed);
}

FM_FAULT unsigned fm_shares_open(const struct fm_file *f)
{
	unsigned pool = atomic_load_explicit(&f->shares->pool,
					     memory_order_relaxed);

	return pool == FM_POOL_STREAMED && !shares_streams_now(f) ?
		       FM_POOL_NORMAL : pool;
}

FM_FAULT unsigned fm_shares_pool(struct fm_file *f, uint64_t fp)
{
	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return FM_POOL_NORMAL;
	if (fm_shares_pinned(f, fp))
		return FM_POOL_PINNED;
	return fm_shares_open(f);
}

/* Of a file without keys. */
FM_FAULT void fm_shares_stream(struct fm_file *f, bool streams)
{
	uint8_t was = streams ? FM_POOL_NORMAL : FM_POOL_STREAMED;

	if (atomic_load_explicit(&f->shares->pool, memory_order_relaxed) == was)
		atomic_compare_exchange_strong(
			&f->shares->pool, &was,
			streams ? FM_POOL_STREAMED : FM_POOL_NORMAL);
	if (streams && !atomic_load_explicit(&any, memory_order_relaxed))
		atomic_store(&any, true);
}

/* ---- files ------------------------------------------------------------- */

static bool wants_own(const struct fm_policy *p)
{
	return p->cache_share.percent != 100 || p->cache_floor.percent ||
	       p->cache_floor.bytes;
}

static bool shares_has_own(const struct fm_file *f)
{
	return atomic_load(&f->shares->pool) >= FM_POOL_OWN;
}

static void shares_give_up(struct fm_file *f)
{
	unsigned pool = atomic_load(&f->shares->pool);

	atomic_store(&f->shares->pool, FM_POOL_NORMAL);
	if (pool >= FM_POOL_OWN)
		atomic_store(&owner[pool], NULL);
}

static void say_many(const struct fm_file *f)
{
	static bool said;

	if (said)
		return;
	said = true;
	fm_log(FM_LOG_WARN,
	       "%s: cache-share and cache-floor without effect: %u files have "
	       "them already; name fewer files in the policy", f->path,
	       FM_EVICT_POOLS - FM_POOL_OWN);
}

/* f has its keys: who looks at its pool finds them. */
static bool take_own(struct fm_file *f)
{
	unsigned p = FM_POOL_OWN;

	while (p < FM_EVICT_POOLS && atomic_load(&owner[p]))
		p++;
	if (p == FM_EVICT_POOLS) {
		say_many(f);
		return false;
	}
	atomic_store(&owner[p], f);
	fm_evict_use(p);
	atomic_store(&f->shares->pool, (uint8_t)p);
	return true;
}

static uint8_t shared_pool(const struct fm_policy *p)
{
	return p->priority == FM_PRIORITY_LOW  ? FM_POOL_LOW :
	       p->priority == FM_PRIORITY_HIGH ? FM_POOL_HIGH :
						 FM_POOL_NORMAL;
}

void fm_shares_apply(struct fm_file *f, const struct fm_policy *policy)
{
	if (shares_policy_of(f) == policy)
		return;
	if (!shares_policy_of(f))
		f->shares->since_ms = fm_now_ms();
	atomic_store(&f->shares->policy, policy);
	if (!wants_own(policy) && shares_has_own(f))
		shares_give_up(f);
	if (!wants_own(policy) || (!shares_has_own(f) && !take_own(f)))
		atomic_store(&f->shares->pool, shared_pool(policy));
	if (atomic_load(&f->shares->pool) != FM_POOL_NORMAL || policy->pin)
		atomic_store(&any, true);
}

void fm_shares_reload(void)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id) {
		const struct fm_policy *policy = fm_policy_for(f->path);

		if (policy && shares_policy_of(f))
			fm_shares_apply(f, policy);
	}
}

struct fm_shares_of fm_shares_of(const struct fm_file *f)
{
	static const char *const names[] = { "low", "normal", "high" };
	const struct fm_policy *policy = shares_policy_of(f);
	const uint64_t limit = fm_cache_limit();
	struct fm_shares_of s = {
		.share = limit,
		.priority = names[policy ? policy->priority : 1],
		.streams = fm_shares_open(f) == FM_POOL_STREAMED,
		.pins = (policy && policy->pin) ||
			atomic_load(&f->shares->asked),
	};

	if (!policy || !shares_has_own(f))
		return s;
	s.share = fm_least(share_of(f, floor_scale()), limit);
	s.floor = floor_of(f, floor_scale());
	return s;
}

FM_UP(file_closing, shares_give_up)

static void shares_reset(void)
{
	for (unsigned p = 0; p < FM_EVICT_POOLS; p++)
		if (atomic_load(&owner[p]))
			shares_give_up(atomic_load(&owner[p]));
	atomic_store(&any, false);
}

FM_LIFE(shares, .level = FM_LIFE_MEMORY, .reset = shares_reset)
