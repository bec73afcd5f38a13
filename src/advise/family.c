/* SPDX-License-Identifier: MIT */
#include "family.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/by_inode.h"
#include "base/life.h"
#include "base/sys.h"
#include "tunables.h"

#define FILES 256

#define CHILDREN 8

/* A file is one of so many by its hash; who has the place loses it to who
 * comes. What is lost where two change one at once is not missed. */
struct note {
	_Atomic uint64_t file; /* hash */
	_Atomic int64_t lean;
};

static struct family {
	struct note note[FILES];
	struct {
		_Atomic uint64_t at_ms; /* 0: none, or its time is unknown */
		_Atomic bool lives;
	} child[CHILDREN]; /* the last ones that have started a thread */
	_Atomic uint32_t children;
	_Atomic uint64_t probe_ms;
} alone, *family = &alone;

static struct note *family_place(dev_t dev, ino_t ino)
{
	const uint64_t h = fm_inode_hash(dev, ino) | 1;
	struct note *n = &family->note[(h >> 40) % FILES];

	if (atomic_exchange(&n->file, h) != h)
		atomic_store(&n->lean, 0);
	return n;
}

void fm_family_start(void)
{
	void *p;

	if (family != &alone)
		return;
	p = fm_sys_far_map(sizeof(*family), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fm_is_err(p))
		family = p;
}

int64_t fm_family_lean(dev_t dev, ino_t ino, int64_t more, int64_t most)
{
	struct note *n = family_place(dev, ino);
	int64_t lean = atomic_load(&n->lean), is;

	do
		is = fm_lean_add(lean, more, most);
	while (!atomic_compare_exchange_weak(&n->lean, &lean, is));
	return is;
}

void fm_family_leans(dev_t dev, ino_t ino, int64_t lean)
{
	atomic_store(&family_place(dev, ino)->lean, lean);
}

static int family_start(void)
{
	fm_family_start();
	return 0;
}

FM_LIFE(family, .level = FM_LIFE_HELPERS, .start = family_start)

/* ---- children ----------------------------------------------------------- */

/* Of those whose time is over: none has lived, and there is one. */
static bool all_were_short(uint64_t now)
{
	bool any = false;

	for (unsigned i = 0; i < CHILDREN; i++) {
		const uint64_t at = atomic_load(&family->child[i].at_ms);

		if (!at || now < at + fm_tune.family_lives_ms)
			continue;
		if (atomic_load(&family->child[i].lives))
			return false;
		any = true;
	}
	return any;
}

bool fm_family_child_starts(unsigned *ret_slot)
{
	const uint64_t now = fm_now_ms();
	unsigned slot;

	*ret_slot = CHILDREN;
	if (family == &alone)
		return true;
	if (all_were_short(now)) {
		uint64_t next = atomic_load(&family->probe_ms);

		if (now < next || !atomic_compare_exchange_strong(
					  &family->probe_ms, &next,
					  now + FM_SECOND_MS))
			return false;
	}
	slot = atomic_load(&family->children) % CHILDREN;
	if (now <
	    atomic_load(&family->child[slot].at_ms) + fm_tune.family_lives_ms)
		return true; /* of many at once the first ones count */
	atomic_fetch_add(&family->children, 1);
	*ret_slot = slot;
	atomic_store(&family->child[*ret_slot].lives, false);
	atomic_store(&family->child[*ret_slot].at_ms, now);
	return true;
}

void fm_family_child_lives(unsigned slot)
{
	if (family != &alone && slot < CHILDREN)
		atomic_store(&family->child[slot].lives, true);
}
