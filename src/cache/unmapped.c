/* SPDX-License-Identifier: MIT */
#include "unmapped.h"

#include "cache.h"
#include "file/file.h"
#include "fingerprints.h"
#include "ghost.h"
#include "map/map.h"

static struct fm_fingerprints unmapped;
static _Atomic uint64_t forgotten; /* pages that went with a mapping */

/* As of ghosts, but these leave the page cache for others, too. */
static FM_FAULT uint32_t unmapped_now(void)
{
	return fm_fingerprints_time(fm_ghost_left() + atomic_load(&forgotten));
}

/* Of the file that it is now: numbers in the table of files come again. */
static FM_FAULT uint64_t unmapped_hash(const struct fm_file *f, uint64_t fp)
{
	return fm_ghost_hash(f, fp) ^ f->ino * 0xd6e8feb86659fd93ull;
}

static void unmapped_add(const struct fm_file *f, uint64_t fp)
{
	const uint64_t h = unmapped_hash(f, fp);
	const uint32_t now = unmapped_now();

	if (fm_fingerprints_age(&unmapped, h, now) < 0)
		atomic_fetch_add(&forgotten, 1);
	fm_fingerprints_add(&unmapped, h, now);
}

static void unmapped_note_page(struct fm_map *m, uint64_t i, void *arg)
{
	if (fm_mode_charged(fm_mode(m, i)))
		unmapped_add(m->file, m->pgoff + i);
}

void fm_unmapped_note(struct fm_map *m)
{
	if (!fm_fingerprints_start(&unmapped, fm_cache_limit()))
		fm_map_each(m, 0, fm_map_pages(m), unmapped_note_page, NULL);
}

void fm_unmapped_note_ahead(const struct fm_file *f, uint64_t first, uint64_t n)
{
	if (!atomic_load(&unmapped.slots))
		return;
	for (uint64_t fp = first; fp < first + n; fp++)
		unmapped_add(f, fp);
}

FM_FAULT bool fm_unmapped_back(const struct fm_file *f, uint64_t fp)
{
	uint64_t h;

	if (!atomic_load(&unmapped.slots))
		return false;
	h = unmapped_hash(f, fp);
	if (fm_fingerprints_age(&unmapped, h, unmapped_now()) < 0)
		return false;
	fm_fingerprints_forget(&unmapped, h);
	return true;
}
