/* SPDX-License-Identifier: MIT */
#include "nonresident.h"

#include "advise/advise.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"

#define RANGES 64 /* size */

static struct {
	uintptr_t start;
	uint64_t pages;
} ranges[RANGES];
static unsigned nranges;
static uint64_t all; /* pages of these */

void fm_nonresident_begin(void)
{
	nranges = 0;
	all = 0;
}

static void nonresident_add(struct fm_file *f, uintptr_t start, uintptr_t end,
			uint64_t pgoff)
{
	const uint64_t pages = fm_pages_within(start, end, pgoff,
					       (uint64_t)fm_file_size(f));

	if (!pages || nranges == RANGES)
		return;
	ranges[nranges].start = start;
	ranges[nranges++].pages = pages;
	all += pages;
}

static void add_of_kernel(struct fm_file *f)
{
	static struct fm_krange v[RANGES];
	const struct fm_file_id id = { f->dev, f->ino };
	unsigned n = fm_krange_list(&id, v, RANGES);

	for (unsigned i = 0; i < n; i++)
		nonresident_add(f, v[i].start, v[i].end, v[i].pgoff);
}

void fm_nonresident_add(struct fm_file *f)
{
	struct fm_map *m;

	if (fm_kernel_serves(f)) {
		add_of_kernel(f);
		return;
	}
	fm_for_each_map(m, f) nonresident_add(f, atomic_load(&m->start),
					  atomic_load(&m->end), m->pgoff);
}

uint32_t fm_nonresident_look(void)
{
	static struct fm_page_sample s;
	unsigned n = 0, missing = 0;

	if (fm_sys_confined()) /* mincore may end it */
		return 0;
	for (unsigned k = 0; k < nranges; k++) {
		const uint64_t part = FM_PAGE_SAMPLES * ranges[k].pages / all;

		fm_page_sample_look(&s, ranges[k].start, ranges[k].pages,
				    (unsigned)(part ? part : 1), false);
		n += s.n;
		missing += s.missing;
	}
	return n ? missing * 1000 / n : 0;
}
