/* SPDX-License-Identifier: MIT */
#include "truncate_barrier.h"

#include "base/file_part.h"
#include "base/lock.h"
#include "file.h"

FM_FILE_PART(barrier)

#define WORDS (FM_LEAF_GROUPS / 64) /* size: of a leaf */

static FM_FAULT void touch_group(struct fm_file *f, uint64_t group)
{
	struct fm_leaf *l = fm_leaf_of(f, group << FM_TOUCH_SHIFT);
	uint64_t g = group % FM_LEAF_GROUPS;

	if (!(atomic_load(&l->touched[g / 64]) >> (g % 64) & 1))
		atomic_fetch_or(&l->touched[g / 64], 1ull << g % 64);
}

FM_FAULT void fm_file_touch(struct fm_file *f, uint64_t first, uint64_t stop)
{
	uint64_t group = first >> FM_TOUCH_SHIFT;
	uint64_t end = (stop + FM_TOUCH_PAGES - 1) >> FM_TOUCH_SHIFT;

	for (; group < end; group++)
		touch_group(f, group);
	fm_raise_to(&f->barrier->touched_hi, end << FM_TOUCH_SHIFT);
}

FM_FAULT void fm_barrier_wait(struct fm_file *f, uint64_t fp)
{
	for (;;) {
		uint32_t n = atomic_load(&f->barrier->lifted);

		if (!fm_is_shut(f, fp))
			return;
		fm_futex_wait(&f->barrier->lifted, n, NULL);
	}
}

void fm_shut(struct fm_file *f, uint64_t first, uint64_t stop,
	     uint64_t *ret_stop)
{
	uint64_t hi;

	atomic_store(&f->barrier->from, first);
	hi = atomic_load(&f->barrier->touched_hi);
	if (stop > hi)
		stop = hi > first ? hi : first;
	for (uint64_t l = first >> FM_LEAF_SHIFT; l << FM_LEAF_SHIFT < stop;
	     l++) {
		struct fm_leaf *leaf = fm_leaf_of(f, l << FM_LEAF_SHIFT);

		for (unsigned w = 0; leaf && w < WORDS; w++)
			leaf->held[w] = atomic_load(&leaf->touched[w]);
	}
	*ret_stop = stop;
}

void fm_barrier_open(struct fm_file *f)
{
	atomic_store(&f->barrier->from, UINT64_MAX);
	atomic_fetch_add(&f->barrier->lifted, 1);
	fm_futex_wake(&f->barrier->lifted, 1 << 30);
}

uint64_t fm_barrier_next(struct fm_file *f, uint64_t fp, uint64_t stop)
{
	while (fp < stop) {
		struct fm_leaf *l = fm_leaf_of(f, fp);
		uint64_t group = fp >> FM_TOUCH_SHIFT, w;

		if (!l) {
			fp = (fp | (FM_LEAF_PAGES - 1)) + 1;
			continue;
		}
		w = l->held[group % FM_LEAF_GROUPS / 64] >> group % 64;
		if (w & 1)
			return fp;
		group += w ? (uint64_t)__builtin_ctzll(w) : 64 - group % 64;
		fp = group << FM_TOUCH_SHIFT;
	}
	return stop;
}
