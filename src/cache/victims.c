/* SPDX-License-Identifier: MIT */
#include "victims.h"

#include "writeback/writeback.h"

static FM_FAULT uint64_t victims_page(const struct fm_victims *v, unsigned k)
{
	return v->map[k]->pgoff + v->index[k];
}

/* Of one file, whose write-back does not fail. */
static FM_FAULT bool victims_takes(const struct fm_victims *v,
				   const struct fm_file *f)
{
	return f->ephemeral && v->n < FM_VICTIMS &&
	       (!v->n || v->map[0]->file == f) && !fm_wb_failing();
}

static FM_FAULT void victims_put(struct fm_victims *v, unsigned k,
				 struct fm_map *m, uint64_t i, uint64_t entry)
{
	v->map[k] = m;
	v->index[k] = i;
	v->entry[k] = entry;
}

FM_FAULT bool fm_victims_add(struct fm_victims *v, struct fm_map *m, uint64_t i,
			     uint64_t entry)
{
	unsigned k = v->n;

	if (!victims_takes(v, m->file))
		return false;
	for (; k && victims_page(v, k - 1) > m->pgoff + i; k--)
		victims_put(v, k, v->map[k - 1], v->index[k - 1],
			    v->entry[k - 1]);
	victims_put(v, k, m, i, entry);
	v->n++;
	return true;
}

FM_FAULT void fm_victims_write(struct fm_victims *v)
{
	fm_wb_victims(v->map, v->index, v->n);
	v->n = FM_VICTIMS;
}
