/* SPDX-License-Identifier: MIT */
#include "unmap_loss.h"

#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "mapops.h"
#include "policy.h"
#include "serve/serve.h"
#include "tunables.h"
#include "writeback/writeback.h"

void fm_unmap_loses(struct fm_map *m)
{
	if (fm_map_pages(m) > FM_SMALL_WINDOW >> FM_PAGE_SHIFT)
		fm_unmapped_note(m); /* others: mmap/kernel_windows.c */
}

/* To read what the engine has of it, in large pieces. */
static uint64_t move_ns(const struct fm_file *f)
{
	return fm_tune.serve_move_ns +
	       fm_device_each_ns(f, (uint64_t)fm_cache_of(f));
}

static bool unmap_may_go(struct fm_file *f, enum fm_server_reason why)
{
	return f->policy->warm == FM_WARM_AUTO && fm_may_change(f) &&
	       fm_demote_may_return(f, why);
}

/* Where the engine was tried it is better, with all that it costs. */
static void weigh(struct fm_file *f, struct fm_again *a, uint64_t spent_ns,
		  uint64_t again_ns, enum fm_server_reason why)
{
	if (fm_kernel_serves(f) || f->choice->trial.state != FM_TRIAL_NONE ||
	    !fm_again_pays(a, spent_ns, again_ns, move_ns(f), fm_now_ms()) ||
	    !unmap_may_go(f, why))
		return;
	fm_demote_ask(f, why);
	fm_wb_kick();
}

void fm_holes_weigh(struct fm_file *f)
{
	weigh(f, &f->choice->holes, atomic_load(&f->st->spent_ns),
	      atomic_load(&f->st->room_ns), FM_WHY_HOLES);
}

void fm_words_weigh(struct fm_file *f)
{
	const uint64_t words = atomic_load(&f->st->words_ns);

	weigh(f, &f->choice->words, atomic_load(&f->st->spent_ns) + words,
	      words, FM_WHY_WORDS);
}

/* The last one's are the next process's, or what was mapped anew
 * (serve/maps.h). */
void fm_unmap_weigh(struct fm_file *f)
{
	struct fm_again *a = &f->choice->again;
	const uint64_t now = fm_now_ms();
	struct fm_maps *m;

	if (atomic_load(&f->nmaps) < 2 ||
	    !fm_again_pays(a, atomic_load(&f->st->spent_ns),
			   atomic_load(&f->st->unmapped_ns), move_ns(f), now) ||
	    !unmap_may_go(f, FM_WHY_REMAPPED))
		return;
	m = fm_serve_maps(f->dev, f->ino, true);
	if (m)
		fm_maps_lost(m, (size_t)fm_file_size(f),
			     fm_again_lost(a, now), now * 1000000);
	fm_demote_ask(f, FM_WHY_REMAPPED);
	fm_wb_kick();
}
