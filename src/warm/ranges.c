/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include "base/sys.h"
#include "base/types.h"
#include "engine.h"

#define BYTES fm_page_up(FM_KRANGES * sizeof(struct fm_krange))

/* The list of a dead process has all files. */
static unsigned only_of(struct fm_krange *r, unsigned n, dev_t dev, ino_t ino)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n; i++)
		if (r[i].dev == dev && r[i].ino == ino)
			r[kept++] = r[i];
	return kept;
}

struct fm_warm_ranges fm_warm_ranges_of(dev_t dev, ino_t ino, bool dead)
{
	const struct fm_file_id id = { dev, ino };
	struct fm_warm_ranges r = { .at = NULL };

	if (fm_krange_any())
		r.at = fm_sys_anon(BYTES);
	if (!r.at)
		return r;
	r.n = dead ? fm_krange_list_dead(r.at, FM_KRANGES) :
		     fm_krange_list(&id, r.at, FM_KRANGES);
	r.n = only_of(r.at, r.n, dev, ino);
	return r;
}

void fm_warm_ranges_free(struct fm_warm_ranges *r)
{
	if (r->at)
		fm_sys_munmap(r->at, BYTES);
	*r = (struct fm_warm_ranges){ .at = NULL };
}
