/* SPDX-License-Identifier: MIT */
/*
 * fault_around.c - how many pages one demand read brings.
 *
 * At least the policy's block. Beyond that, unless the program said
 * MADV_RANDOM, as many neighbours as are worth what they cost, by what was
 * counted of the file and measured of its device, or is assumed until then
 * (nearby.h).
 *
 * And all of the neighbours when the faults, wherever they are, fall into few
 * enough pieces of 2 MiB that the cache could hold all of these.
 *
 * Where all that is mapped fits into the cache, nothing will have to
 * leave for a neighbour, and sooner or later most of them are asked for: then
 * as many as the piece has got already. So what is read is at most twice what a
 * program that stays in a part of it has asked for, and a piece is there after
 * ten faults instead of thirty. Nor does anything leave for it while what is
 * evicted stays as a lazy page. And at least as many as come in the time that
 * the device takes for a read of nothing (io/device.h): so the program waits at
 * most twice as long as if it had known what it will want.
 */
#include "fault_around.h"

#include "base/epoch.h"
#include "base/life.h"
#include "cache/cache.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "nearby.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define FILES_EACH 64 /* size: files that are summed up for one mapped */
#define TRIED 64      /* size: pieces, by their hash */
#define LARGE (FM_BOUNCE >> FM_PAGE_SHIFT)

/* Pages of the piece that page i is in which are present. */
static FM_FAULT uint64_t known(struct fm_map *m, uint64_t i)
{
	uint64_t at = (m->pgoff + i) % FM_HUGE_PAGES, n = 0;
	uint64_t first = at > i ? 0 : i - at, last = i - at + FM_HUGE_PAGES;

	if (last > fm_map_pages(m))
		last = fm_map_pages(m);
	for (uint64_t k = first; k < last; k++)
		n += (fm_mode(m, k) & PM_PRESENT) != 0;
	return n;
}

/* Pages that the cache holds before anything leaves. */
static FM_FAULT uint64_t holds(void)
{
	return fm_cache_limit() / 8 * 7;
}

/* Pieces of 2 MiB that faults fell into: of a window of faults, or of the
 * last second's where the device takes long for each. A slot tells which was
 * seen in this turn; one that is overwritten counts twice. */
#define SLOTS 4096
static struct {
	_Atomic uint32_t slot[SLOTS];
	_Atomic uint32_t faults, pieces, turn;
	_Atomic bool small;
} area;

/* In 16ths: how many of r pieces w faults find that hit them at random. */
static FM_FAULT uint64_t found_of(uint64_t r, uint32_t w)
{
	const uint64_t all = r << 4;
	uint64_t n = 0;

	while (w-- && r)
		n += (all - n + r / 2) / r;
	return n;
}

/* Does all that the last w faults came from fit? A sixteenth less than would
 * just fit: that much is chance. */
static FM_FAULT void fault_around_judge_area(uint32_t w)
{
	const uint64_t r = holds() / FM_HUGE_PAGES;

	atomic_store(&area.small, atomic_exchange(&area.pieces, 0) * 16 <
					  found_of(r, w) * 15 / 16);
	atomic_fetch_add(&area.turn, 1);
	atomic_store(&area.faults, 0);
}

static FM_FAULT void note_piece(const struct fm_file *f, uint64_t fp)
{
	uint64_t h = fm_ghost_hash(f, fp / FM_HUGE_PAGES + 1);
	uint32_t seen = (uint32_t)(h >> 48) << 16 |
			(atomic_load(&area.turn) & 0xffff);
	_Atomic uint32_t *slot = &area.slot[(h >> 20) % SLOTS];

	if (atomic_load_explicit(slot, memory_order_relaxed) != seen) {
		atomic_store_explicit(slot, seen, memory_order_relaxed);
		atomic_fetch_add_explicit(&area.pieces, 1,
					  memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&area.faults, 1, memory_order_relaxed) +
		    1 ==
	    fm_tune.fault_around_window)
		fault_around_judge_area(fm_tune.fault_around_window);
}

static FM_FAULT bool small_area(void)
{
	return atomic_load_explicit(&area.small, memory_order_relaxed);
}

static _Atomic bool all_fit;

void fm_fault_around_weigh(void)
{
	static _Atomic uint32_t n; /* with the space lock, and once a second */
	struct fm_file *f;
	uint64_t sum = 0;
	unsigned e;

	if (n++ % (fm_file_top() / FILES_EACH + 1))
		return;
	e = fm_epoch_enter();

	fm_for_each_file(f, id)
		sum += fm_map_bytes(f);
	fm_epoch_leave(e);
	fm_mem_monitor_mapped(sum);
	atomic_store(&all_fit, sum <= fm_mem_monitor_most());
}

static FM_FAULT uint64_t as_many_again(struct fm_map *m, uint64_t i)
{
	uint64_t want = fm_device_even(m->file), n = fm_tune.fault_around_group;

	if (want < LARGE)
		want += known(m, i);
	while (n < want && n < LARGE)
		n *= 2;
	return n;
}

/* What leaves for a piece is still there while lazy pages may become more. */
static FM_FAULT bool has_room_for_piece(void)
{
	const int64_t with = fm_cache_resident() + (int64_t)FM_HUGE_PAGES;
	const int64_t limit = (int64_t)fm_cache_limit();

	return with < limit || with < limit + (int64_t)fm_lazyfree_room();
}

/* Is m read as a whole, sooner or later, and has nothing to leave for it? */
static FM_FAULT bool comes_whole(const struct fm_map *m)
{
	return atomic_load_explicit(&all_fit, memory_order_relaxed) &&
	       has_room_for_piece() &&
	       atomic_load(&m->advice) != MADV_RANDOM &&
	       m->file->policy->map_ahead;
}

static FM_FAULT uint64_t neighbours(struct fm_map *m, uint64_t i)
{
	if (atomic_load(&m->advice) == MADV_RANDOM ||
	    !m->file->policy->map_ahead)
		return 1;
	note_piece(m->file, m->pgoff + i);
	if (small_area())
		return LARGE;
	if (comes_whole(m))
		return as_many_again(m, i);
	return fm_nearby_pages(m->file, m->pgoff + i);
}

static FM_FAULT uint64_t dense_pages(struct fm_map *m, uint64_t i)
{
	const uint64_t n = neighbours(m, i);

	fm_nearby_asked(m->file, n);
	return n;
}

static FM_FAULT uint64_t block_pages(struct fm_map *m, uint64_t i)
{
	uint64_t per = m->file->policy->block_size >> FM_PAGE_SHIFT;
	uint64_t most = fm_cache_limit() / 8;
	uint64_t dense;

	if (atomic_load(&m->aliased) &&
	    atomic_load(&m->file->nmaps) > fm_tune.fault_around_maps)
		return 1;
	if (per < fm_tune.fault_around_group && fm_map_is_window(m))
		per = fm_tune.fault_around_group; /* the page cache has them */
	dense = dense_pages(m, i);
	if (per < dense)
		per = dense;
	if (per > LARGE)
		per = LARGE;
	return per < most ? per : most;
}

/* Another mapping's copy may be newer than the file. */
static FM_FAULT bool alias_has(struct fm_map *m, uint64_t i)
{
	uint64_t j;

	return atomic_load(&m->aliased) &&
	       fm_map_holder(m->file, m->pgoff + i, m, &j);
}

/* A page that nobody has or is working on may come along with a load. */
static FM_FAULT bool fault_around_join(struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	if (!p || (fm_mode(m, i) & PM_PRESENT))
		return false;
	fm_map_touch(m, i);
	if (!fm_page_trylock(p))
		return false;
	if (!(fm_mode(m, i) & PM_PRESENT) &&
	    !(fm_page_state(p) & (FP_DIRTY | FP_AHEAD | FP_WB)) &&
	    !fm_is_shut(m->file, m->pgoff + i) && !alias_has(m, i) &&
	    fm_space_find((uintptr_t)fm_map_addr(m, i)) == m)
		return true;
	fm_page_unlock(p);
	return false;
}

/* Where the mapping ends, or the file, as far as is known. */
static FM_FAULT uint64_t fault_around_end_of(const struct fm_map *m)
{
	uint64_t pages = fm_map_pages(m);
	uint64_t size = ((uint64_t)atomic_load(&m->file->size) +
			 FM_PAGE_MASK) >> FM_PAGE_SHIFT;

	if (size < m->pgoff + pages)
		pages = size < m->pgoff ? 0 : size - m->pgoff;
	return pages;
}

FM_FAULT void fm_fault_around_lock(struct fm_map *m, uint64_t i, uint64_t *lo,
			     uint64_t *hi)
{
	uint64_t per = block_pages(m, i);
	uint64_t first, last, fp = m->pgoff + i;

	*lo = i;
	*hi = i + 1;
	if (per <= 1)
		return;
	first = fp - fp % per < m->pgoff ? 0 : fp - fp % per - m->pgoff;
	last = fp - fp % per + per - m->pgoff;
	if (last > fault_around_end_of(m))
		last = fault_around_end_of(m);
	while (*lo > first && fault_around_join(m, *lo - 1))
		--*lo;
	while (*hi < last && fault_around_join(m, *hi))
		++*hi;
}

FM_FAULT void fm_fault_around_unlock(struct fm_map *m, uint64_t i, uint64_t lo,
			       uint64_t hi)
{
	for (uint64_t k = lo; k < hi; k++)
		if (k != i)
			fm_page_unlock(fm_file_page(m->file, m->pgoff + k));
}

/* ---- what comes in the background -------------------------------------- */

/* Pages [i, end) of m that are not there, as far as there are buffers. */
static FM_FAULT void fault_around_bring(struct fm_map *m, uint64_t i,
					uint64_t end)
{
	for (uint64_t n = 1; n && i < end; i += n)
		n = fm_mode(m, i) & PM_PRESENT ?
			    1 : fm_fetch_chunk(m, i, end, FM_CHUNK_EAGER);
}

/* With so many pages more than there are now: is the rest of the piece worth as
 * much as a read takes? */
static FM_FAULT bool rest_is_worth(struct fm_map *m, uint64_t i, uint64_t more)
{
	return comes_whole(m) && !fm_map_is_window(m) &&
	       known(m, i) + more +
			       fm_device_even(m->file) >=
		       FM_HUGE_PAGES / 2;
}

static FM_FAULT void bring_piece(struct fm_map *m, uint64_t i)
{
	uint64_t at = (m->pgoff + i) % FM_HUGE_PAGES;
	uint64_t first = at > i ? 0 : i - at;

	fault_around_bring(m, first, fm_least(i - at + FM_HUGE_PAGES,
					      fault_around_end_of(m)));
}

FM_FAULT void fm_fault_around_rest(struct fm_map *m, uint64_t i)
{
	if (rest_is_worth(m, i, 0))
		bring_piece(m, i);
}

/* Where it could not be read the page is wanted again at once, and comes
 * alone. */
static FM_FAULT bool is_first_try(const struct fm_map *m, uint64_t i)
{
	static _Atomic uint64_t tried[TRIED];
	const uint64_t h = fm_ghost_hash(m->file, (m->pgoff + i) /
							  FM_HUGE_PAGES + 1);

	return atomic_exchange(&tried[h % TRIED], h) != h;
}

FM_FAULT void fm_fault_around_all(struct fm_map *m, uint64_t i)
{
	/* by far the most often it does not all fit */
	if (atomic_load_explicit(&all_fit, memory_order_relaxed) &&
	    !(fm_mode(m, i) & PM_PRESENT) &&
	    fm_device_even(m->file) >= LARGE && rest_is_worth(m, i, LARGE) &&
	    is_first_try(m, i))
		bring_piece(m, i);
}

static void fault_around_every_second(void)
{
	const uint32_t w = atomic_load(&area.faults);

	fm_fault_around_weigh();
	if (w >= fm_tune.sample_enough && w < fm_tune.fault_around_window)
		fault_around_judge_area(w);
}

FM_LIFE(fault_around, .level = FM_LIFE_HELPERS,
	.second = fault_around_every_second)
