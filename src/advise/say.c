/* SPDX-License-Identifier: MIT */
#include "say.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "base/types.h"
#include "folios.h"
#include "krange.h"
#include "scan.h"
#include "streams.h"

static _Atomic bool no_huge; /* this kernel has no huge pages */

/* Of segments [from, to). */
static int say(struct fm_advised *a, unsigned from, unsigned to, int advice)
{
	const struct fm_run r = fm_advised_part(a, from, to);
	const int err = r.start < r.end ? fm_krange_advise(a->id, r.start,
							   r.end, advice) : 0;

	a->refused |= err == -ENOMEM;
	if (!err)
		fm_count(&fm_advise_counts.changes, 1);
	return err;
}

static int say_advice(struct fm_advised *a, unsigned from, unsigned to,
		      enum fm_advice advice, bool folios)
{
	const bool random = advice == FM_ADVICE_RANDOM;
	const struct fm_run r = fm_advised_part(a, from, to);
	const int err = say(a, from, to, random ? MADV_RANDOM : MADV_NORMAL);

	if (err)
		return err == -ENOMEM || err == -ESTALE ? 0 : err;
	if (random && folios && a->stores)
		fm_folios_leave(a->id, r.start, r.end);
	for (unsigned k = from; k < to; k++)
		a->seg[k].advice = (uint8_t)advice;
	return 0;
}

int fm_say(const struct fm_advised_all *all, struct fm_advised *a,
	   fm_wanted_fn wanted, bool folios)
{
	int err = 0;

	for (unsigned k = 0, end; k < a->n && !err && !a->refused; k = end) {
		const enum fm_advice w = wanted(all, a, k);

		for (end = k + 1; end < a->n; end++)
			if (a->seg[end].advice != a->seg[k].advice ||
			    wanted(all, a, end) != w)
				break;
		if (w != a->seg[k].advice)
			err = say_advice(a, k, end, w, folios);
	}
	return err;
}

/* ---- pieces of 2 MiB ---------------------------------------------------- */

static void say_huge(struct fm_advised *a, unsigned from, unsigned to,
		     bool huge)
{
	const int err = say(a, from, to,
			    huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);

	if (err == -EINVAL)
		atomic_store(&no_huge, true);
	for (unsigned k = from; !err && k < to; k++)
		a->seg[k].huge = huge;
}

static bool say_wants_huge(const struct fm_advised *a, unsigned k)
{
	const uintptr_t at = a->base + k * a->segment;

	return a->seg[k].advice == FM_ADVICE_NORMAL &&
	       fm_streams_reach(a->id, at, at + a->segment);
}

static uint64_t huge_range(struct fm_advised *a)
{
	uint64_t bytes = 0;
	struct fm_run r;

	for (unsigned k = 0, end; k < a->n; k = end) {
		const bool w = say_wants_huge(a, k);

		for (end = k + 1; end < a->n; end++)
			if (a->seg[end].huge != a->seg[k].huge ||
			    say_wants_huge(a, end) != w)
				break;
		if (w != a->seg[k].huge && !a->refused)
			say_huge(a, k, end, w);
		r = fm_advised_part(a, k, end);
		bytes += a->seg[k].huge && r.end > r.start ? r.end - r.start :
							     0;
	}
	return bytes;
}

void fm_say_huge(struct fm_advised_all *all)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < all->n && !no_huge; i++)
		bytes += huge_range(&all->v[i]);
	atomic_store(&fm_advise_counts.huge_bytes, bytes);
}

bool fm_say_may_be_huge(void)
{
	return !no_huge;
}
