/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include "ahead.h"
#include "engine.h"
#include "file.h"
#include "guardian.h"
#include "mapops.h"
#include "ring.h"
#include "space.h"
#include "wb.h"

#define MOST_FILES 64 /* to hand over one by one: 0.1 ms each */

_Atomic bool fm_is_ending;

static unsigned mapped_files(void)
{
	unsigned n = 0;

	for (uint32_t id = 0; id < fm_file_top(); id++)
		n += fm_file_at(id) && atomic_load(&fm_file_at(id)->maps);
	return n;
}

/* What a thread stores until it is stopped is in the file, as natively. */
static bool hand_over(void)
{
	return mapped_files() <= MOST_FILES &&
	       !fm_demote_where(NULL, 0, "the program ends");
}

/* What is being read keeps its file open. */
static void forget_ahead(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);
		struct fm_map *m = f ? atomic_load(&f->maps) : NULL;

		for (; m; m = atomic_load(&m->file_next))
			fm_ahead_forget(m);
	}
}

static bool is_clean(void)
{
	forget_ahead();
	for (uint32_t id = 0; id < fm_file_top(); id++)
		if (fm_file_at(id) && fm_dirty_count(fm_file_at(id)))
			return false;
	return true;
}

static bool nobody_needs_it(bool exec)
{
	return exec || atomic_load(&fm_threads) ? hand_over() : is_clean();
}

void fm_ending(bool exec)
{
	uint64_t old;

	fm_space_lock(&old);
	atomic_store(&fm_is_ending, true);
	if (nobody_needs_it(exec)) {
		fm_rings_release(fm_file_top());
		fm_guardian_end();
	}
	if (exec)
		atomic_store(&fm_is_ending, false);
	fm_space_unlock(&old);
}
