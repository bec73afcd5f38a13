/* SPDX-License-Identifier: MIT */
/*
 * fork.c - what a child of fork finds.
 *
 * Our memory is MADV_DONTFORK: the child has holes where the mappings were
 * and lays the kernel's mappings of the files there. The parent flushes
 * first; a file that parent and child could both store to is handed to the
 * kernel in the parent too, so that they go on agreeing.
 */
#include "ahead.h"
#include "alloc.h"
#include "cache.h"
#include "control.h"
#include "engine.h"
#include "engine_priv.h"
#include "epoch.h"
#include "file.h"
#include "guardian.h"
#include "huge.h"
#include "map.h"
#include "mapops.h"
#include "pin.h"
#include "ring.h"
#include "space.h"
#include "sys.h"
#include "uffd.h"
#include "wb.h"

static uint64_t saved_mask;
static bool prepared;

static bool has_shared_writable(struct fm_file *f)
{
	struct fm_map *m = atomic_load(&f->maps);

	for (; m; m = atomic_load(&m->file_next))
		if (m->shared && m->maywrite)
			return true;
	return false;
}

static bool has_private(struct fm_file *f)
{
	struct fm_map *m = atomic_load(&f->maps);

	for (; m; m = atomic_load(&m->file_next))
		if (!m->shared)
			return true;
	return false;
}

void fm_fork_prepare(void)
{
	prepared = fm_active();
	if (!prepared)
		return;
	fm_space_lock(&saved_mask);
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);

		if (f && (has_shared_writable(f) || has_private(f)))
			fm_demote_locked(f, "fork");
	}
	fm_wb_all();
	fm_alloc_lock();
}

void fm_fork_parent(void)
{
	if (!prepared)
		return;
	fm_alloc_unlock();
	fm_space_unlock(&saved_mask);
}

/* Only readers' mappings are left: the kernel's serve the child as well. */
static void restore(struct fm_map *m)
{
	struct fm_kmap k = {
		.addr = (void *)atomic_load(&m->start),
		.len = atomic_load(&m->end) - atomic_load(&m->start),
		.prot = atomic_load(&m->prot),
		.flags = m->shared ? MAP_SHARED : MAP_PRIVATE,
		.off = (off_t)(m->pgoff << FM_PAGE_SHIFT),
		.write = m->shared && m->maywrite,
	};

	fm_kernel_map(m->file, &k, 1);
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), NULL);
	atomic_fetch_sub(&fm_live_maps, 1);
}

void fm_fork_child(void)
{
	if (!prepared)
		return;
	fm_alloc_unlock();
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);
		struct fm_map *m = f ? atomic_load(&f->maps) : NULL;

		for (; m; m = atomic_load(&m->file_next))
			restore(m);
	}
	fm_engine_forked();
	fm_space_unlock(&saved_mask);
}
