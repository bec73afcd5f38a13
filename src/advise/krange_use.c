/* SPDX-License-Identifier: MIT */
/*
 * What may be in use of that which the kernel serves: of a file that is mapped
 * several times no more than it has, and no holes, which nobody reads.
 */
#include "krange_priv.h"

#include <string.h>

#include "base/by_inode.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"

/* A hash table, at most half full, made anew each time, under the lock. No
 * bytes: the place is free. */
static struct used_file {
	struct fm_file_id file;
	uint64_t bytes, written;
} uses[2 * FM_KRANGES];

static unsigned krange_places(unsigned n)
{
	unsigned places = 2;

	while (places < 2 * n)
		places *= 2;
	return places;
}

static struct used_file *krange_used_file(const struct fm_krange *r,
					  unsigned places)
{
	uint64_t h = fm_inode_hash(r->dev, r->ino) >> 32;
	struct used_file *u = &uses[h % places];

	while (u->bytes && (u->file.ino != r->ino || u->file.dev != r->dev))
		u = &uses[++h % places];
	return u;
}

/* It may have been written to between two maps of it. */
static void krange_use_add(struct used_file *u, const struct fm_krange *r)
{
	u->file = (struct fm_file_id){ r->dev, r->ino };
	u->bytes += r->end - r->start;
	if (u->written < r->written)
		u->written = r->written;
}

uint64_t fm_krange_in_use(void)
{
	uint64_t mask, sum = 0;
	unsigned n, places;

	if (!fm_krange_any() || !fm_kranges_lock(&mask))
		return 0;
	n = atomic_load(&fm_kranges);
	places = krange_places(n);
	memset(uses, 0, places * sizeof(*uses));
	for (unsigned i = 0; i < n; i++)
		krange_use_add(krange_used_file(&fm_kranges_v[i], places),
			       &fm_kranges_v[i]);
	for (unsigned i = 0; i < places; i++)
		sum += fm_least(uses[i].bytes, uses[i].written);
	fm_kranges_unlock(&mask);
	return sum;
}
