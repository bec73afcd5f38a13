/* SPDX-License-Identifier: MIT */
#include "unmapped.h"

#include "base/sys.h"
#include "cache.h"
#include "file/file.h"
#include "ghost.h"
#include "map/map.h"

#define LEAST 1024u /* size: slots */
#define SHARES 64u  /* unit: of the cache, in which time is counted */

/* Fingerprint and time, one word a slot. */
static _Atomic(_Atomic uint32_t *) table;
static uint64_t slots;

/* Time is what was evicted, as of ghosts. */
static FM_FAULT uint32_t evictions_now(void)
{
	return (uint32_t)(fm_ghost_left() / (fm_cache_limit() / SHARES + 1)) &
	       0xffff;
}

/* Of the file that it is now: numbers in the table of files come again. */
static FM_FAULT uint64_t unmapped_hash(const struct fm_file *f, uint64_t fp)
{
	return fm_ghost_hash(f, fp) ^ f->ino * 0xd6e8feb86659fd93ull;
}

static FM_FAULT _Atomic uint32_t *unmapped_slot(_Atomic uint32_t *t, uint64_t h)
{
	return &t[(h >> 20) & (slots - 1)];
}

static bool unmapped_start(void)
{
	_Atomic uint32_t *t;

	if (atomic_load(&table))
		return true;
	for (slots = LEAST; slots < fm_cache_limit();)
		slots *= 2;
	t = fm_sys_anon(slots * sizeof(*t));
	atomic_store(&table, t);
	return t;
}

static void unmapped_add(const struct fm_file *f, uint64_t fp)
{
	const uint64_t h = unmapped_hash(f, fp);

	atomic_store_explicit(unmapped_slot(table, h),
			      (uint32_t)(h >> 48) << 16 | evictions_now(),
			      memory_order_relaxed);
}

static void unmapped_note_page(struct fm_map *m, uint64_t i, void *arg)
{
	if (fm_mode_charged(fm_mode(m, i)))
		unmapped_add(m->file, m->pgoff + i);
}

void fm_unmapped_note(struct fm_map *m)
{
	if (m->shared && unmapped_start())
		fm_map_each(m, 0, fm_map_pages(m), unmapped_note_page, NULL);
}

void fm_unmapped_note_ahead(const struct fm_file *f, uint64_t first, uint64_t n)
{
	for (uint64_t fp = first; atomic_load(&table) && fp < first + n; fp++)
		unmapped_add(f, fp);
}

FM_FAULT bool fm_unmapped_back(const struct fm_file *f, uint64_t fp)
{
	_Atomic uint32_t *t = atomic_load(&table), *slot;
	uint64_t h;
	uint32_t g;

	if (!t)
		return false;
	h = unmapped_hash(f, fp);
	slot = unmapped_slot(t, h);
	g = atomic_load_explicit(slot, memory_order_relaxed);
	if (!g || g >> 16 != (uint32_t)(h >> 48))
		return false;
	atomic_store_explicit(slot, 0, memory_order_relaxed);
	return ((evictions_now() - g) & 0xffff) <= SHARES;
}
