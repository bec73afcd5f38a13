/* SPDX-License-Identifier: MIT */
#include "reuse.h"

#include <stdatomic.h>

#include "base/sys.h"
#include "file/file.h"
#include "tunables.h"

#define SLOTS_LEAST 1024 /* size: of the sample */
#define SLOTS_MOST 16384 /* size: of the sample */
#define WAYS 8
#define ONE 16 /* unit: an event, of the counts that are halved */

static struct fm_sample *table;
static uint64_t buckets;  /* a power of two */
static _Atomic uint64_t one_in; /* a power of two */
static _Atomic uint32_t window_length;
static _Atomic bool busy;
static _Atomic uint32_t now;
static uint64_t cold;     /* under `busy` */
static uint16_t cold_window;
static _Atomic bool sampled[FM_MAX_FILES]; /* a page of it, since it opened */

/* An eighth of the table is for what is resident. Pages that are chosen already
 * stay so, or are a part of those. */
static void reuse_choose(uint64_t pages, uint64_t slots, uint64_t least)
{
	uint64_t n = least;

	while (pages / n > slots / 8)
		n *= 2;
	atomic_store(&one_in, n);
	atomic_store(&window_length,
		     (uint32_t)(pages / n * fm_tune.reuse_window) +
			     fm_tune.reuse_window);
}

void fm_reuse_start(uint64_t pages)
{
	uint64_t slots = SLOTS_LEAST;

	if (table)
		return;
	while (slots < SLOTS_MOST && slots < pages / 4)
		slots *= 2;
	reuse_choose(pages, slots, 1);
	buckets = slots / WAYS;
	table = fm_sys_anon(slots * sizeof(*table));
}

/* The child of fork begins with an empty table. */
void fm_reuse_reset(void)
{
	if (table)
		fm_sys_madvise(table, buckets * WAYS * sizeof(*table),
			       MADV_DONTNEED);
	atomic_store(&busy, false);
	atomic_store(&now, 0);
	cold = cold_window = 0;
}

/* ---- one page ---------------------------------------------------------- */

/* The bits of a product that tell neighbours apart are the upper ones: mix. */
static FM_FAULT uint64_t mixed(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static FM_FAULT bool is_chosen(uint64_t key)
{
	return table && !(key & (atomic_load_explicit(
				  &one_in, memory_order_relaxed) - 1));
}

static FM_FAULT uint16_t window_now(uint32_t t)
{
	return (uint16_t)(t / atomic_load_explicit(&window_length,
						   memory_order_relaxed));
}

/* Halve what was seen in windows that have passed. */
static FM_FAULT void fade(struct fm_sample *s, uint16_t w)
{
	unsigned n = (uint16_t)(w - s->window);

	if (n > 31)
		n = 31;
	s->stay >>= n;
	s->away >>= n;
	s->away2 >>= n;
	s->left >>= n;
	s->back >>= n;
	s->window = w;
}

/* Of two that may be replaced: what is dead goes first, then what is away the
 * longest. */
static FM_FAULT bool is_worth_less(const struct fm_sample *a,
				   const struct fm_sample *b, uint32_t t)
{
	if (a->state != b->state)
		return a->state < b->state;
	return t - a->since > t - b->since;
}

static FM_FAULT struct fm_sample *reuse_find(uint64_t key, uint32_t t,
					     bool *ret_new)
{
	struct fm_sample *b = &table[(key >> 20 & (buckets - 1)) * WAYS];
	struct fm_sample *least = b;

	for (struct fm_sample *s = b; s < b + WAYS; s++) {
		if (s->key == key && s->state > FM_SAMPLE_DEAD) {
			*ret_new = false;
			return s;
		}
		if (is_worth_less(s, least, t))
			least = s;
	}
	*ret_new = true;
	return least;
}

/* ---- events ------------------------------------------------------------ */

static FM_FAULT bool take_table(void)
{
	return !atomic_exchange_explicit(&busy, true, memory_order_acquire);
}

static FM_FAULT void give_table(void)
{
	atomic_store_explicit(&busy, false, memory_order_release);
}

static FM_FAULT void reuse_note_left(struct fm_sample *s, uint32_t t)
{
	if (s->state != FM_SAMPLE_RESIDENT)
		return;
	s->stay += t - s->since;
	s->left += ONE;
	s->since = t;
	s->state = FM_SAMPLE_AWAY;
}

static FM_FAULT void note_back(struct fm_sample *s, uint32_t t)
{
	uint64_t away = t - s->since;

	if (s->state != FM_SAMPLE_AWAY)
		return;
	s->away += (uint32_t)away;
	s->away2 += away * away;
	s->back += ONE;
	s->since = t;
	s->state = FM_SAMPLE_RESIDENT;
}

static FM_FAULT void note_cold(struct fm_sample *s, uint32_t file, uint64_t key,
			       uint32_t t)
{
	const uint16_t w = window_now(t);
	const unsigned n = (uint16_t)(w - cold_window);

	atomic_store_explicit(&sampled[file], true, memory_order_relaxed);
	*s = (struct fm_sample){ .key = key, .file = file, .since = t,
				 .window = w, .state = FM_SAMPLE_RESIDENT };
	cold = (n > 31 ? 0 : cold >> n) + ONE;
	cold_window = w;
}

/* The sample of a page, with the table taken; NULL: the page is not chosen, or
 * somebody else has the table. */
static FM_FAULT struct fm_sample *reuse_take(uint64_t hash, uint32_t evictions,
					     uint32_t *ret_now, bool *ret_new)
{
	const uint64_t key = mixed(hash);

	if (!is_chosen(key) || !take_table())
		return NULL;
	*ret_now = atomic_fetch_add_explicit(&now, evictions,
					     memory_order_relaxed) + evictions;
	return reuse_find(key, *ret_now, ret_new);
}

FM_FAULT void fm_reuse_left(uint64_t hash)
{
	bool is_new;
	uint32_t t;
	struct fm_sample *s = reuse_take(hash, 1, &t, &is_new);

	if (!s)
		return;
	if (!is_new) {
		fade(s, window_now(t));
		reuse_note_left(s, t);
	}
	give_table();
}

FM_FAULT void fm_reuse_came(uint32_t file, uint64_t hash)
{
	bool is_new;
	uint32_t t;
	struct fm_sample *s = reuse_take(hash, 0, &t, &is_new);

	if (!s)
		return;
	if (is_new) {
		note_cold(s, file, mixed(hash), t);
	} else {
		fade(s, window_now(t));
		note_back(s, t);
	}
	give_table();
}

/* Its number will be another file's. Who is noting an event is not waited for:
 * then some pages of it stay. Of most files that come and go there is none. */
static void reuse_forget(struct fm_file *f)
{
	const uint32_t t = atomic_load(&now);

	if (!atomic_load(&sampled[f->id]) || !take_table())
		return;
	atomic_store(&sampled[f->id], false);
	for (struct fm_sample *s = table; s < table + buckets * WAYS; s++) {
		if (s->state <= FM_SAMPLE_DEAD || s->file != f->id)
			continue;
		fade(s, window_now(t));
		if (s->state == FM_SAMPLE_RESIDENT)
			s->stay += t - s->since;
		s->state = FM_SAMPLE_DEAD;
	}
	give_table();
}

/* Which of them is there is still true. */
static void reuse_begin_again(struct fm_sample *s, uint32_t t)
{
	const bool known = s->state > FM_SAMPLE_DEAD && is_chosen(s->key);

	*s = (struct fm_sample){ .key = s->key, .file = s->file, .since = t,
				 .window = window_now(t),
				 .state = known ? s->state : FM_SAMPLE_FREE };
}

void fm_reuse_restart(uint64_t pages)
{
	const uint32_t t = atomic_load(&now);

	if (!table)
		return;
	while (!take_table())
		fm_sys0(SYS_sched_yield);
	reuse_choose(pages, buckets * WAYS, atomic_load(&one_in));
	for (struct fm_sample *s = table; s < table + buckets * WAYS; s++)
		reuse_begin_again(s, t);
	cold = 0;
	cold_window = window_now(t);
	give_table();
}

FM_UP(file_closed, reuse_forget)

void fm_reuse_get(struct fm_reuse *ret)
{
	*ret = (struct fm_reuse){ .sample = table,
				  .n = table ? buckets * WAYS : 0,
				  .now = atomic_load(&now),
				  .cold = cold,
				  .one_in = atomic_load(&one_in) };
}
