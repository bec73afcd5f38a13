/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include "engine.h"
#include "file.h"
#include "guardian.h"
#include "mapops.h"
#include "ring.h"
#include "space.h"
#include "sys.h"

#define MOST_FILES 64 /* to hand over one by one: 0.1 ms each */

_Atomic bool fm_is_ending;

static unsigned mapped_files(void)
{
	unsigned n = 0;

	for (uint32_t id = 0; id < fm_file_top(); id++)
		n += fm_file_at(id) && atomic_load(&fm_file_at(id)->maps);
	return n;
}

/* A private mapping is nobody else's business, and may be large: to hand it over would
 * copy it. */
static bool all_shared(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);
		struct fm_map *m = f ? atomic_load(&f->maps) : NULL;

		for (; m; m = atomic_load(&m->file_next))
			if (!m->shared)
				return false;
	}
	return true;
}

/* What is stored until the process is stopped is in the file, as natively: by a thread, a
 * signal handler, or libc, which writes its streams out after all exit handlers. */
static bool hand_over(void)
{
	return mapped_files() <= MOST_FILES && all_shared() &&
	       !fm_demote_where(NULL, 0, "the program ends");
}

void fm_ending(bool exec)
{
	uint64_t old;

	if (fm_sys_confined()) /* the guardian does without what would kill us */
		return;
	fm_space_lock(&old);
	atomic_store(&fm_is_ending, true);
	if (hand_over()) {
		fm_rings_release(fm_file_top());
		fm_guardian_end();
	}
	if (exec)
		atomic_store(&fm_is_ending, false);
	fm_space_unlock(&old);
}
