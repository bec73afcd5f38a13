/* SPDX-License-Identifier: MIT */
#include "board.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "engine.h"
#include "tunables.h"

#define FILES 256

#define CHILDREN 8

/* A file is one of so many by its hash; who has the place loses it to who
 * comes. */
struct note {
	_Atomic uint64_t file; /* hash */
	_Atomic uint64_t at_ms;
	_Atomic uint32_t advice;
	_Atomic uint32_t singles; /* by the place alone: a hint */
};

static struct board {
	struct note note[FILES];
	struct {
		_Atomic uint64_t at_ms; /* 0: none, or its time is unknown */
		_Atomic bool lives;
	} child[CHILDREN]; /* the last ones that have started a thread */
	_Atomic uint32_t children;
	_Atomic uint64_t probe_ms;
} *board;

static uint64_t hash(dev_t dev, ino_t ino)
{
	return (ino ^ dev << 32) * 0x9e3779b97f4a7c15ull | 1;
}

static struct note *place(uint64_t h)
{
	return board ? &board->note[(h >> 40) % FILES] : NULL;
}

void fm_board_start(void)
{
	void *p;

	if (board)
		return;
	p = fm_sys_far_map(sizeof(*board), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fm_is_err(p))
		board = p;
}

void fm_board_post(dev_t dev, ino_t ino, enum fm_advice advice)
{
	const uint64_t h = hash(dev, ino);
	struct note *n = place(h);

	if (!n)
		return;
	atomic_store(&n->file, 0); /* who reads it meanwhile finds nothing */
	atomic_store(&n->advice, advice);
	atomic_store(&n->at_ms, fm_now_ms());
	atomic_store(&n->file, h);
}

enum fm_advice fm_board_ask(dev_t dev, ino_t ino)
{
	const uint64_t h = hash(dev, ino);
	const struct note *n = place(h);
	uint32_t advice;

	if (!n || atomic_load(&n->file) != h ||
	    atomic_load(&n->at_ms) + fm_tune.board_old_ms < fm_now_ms())
		return FM_ADVICE_UNKNOWN;
	advice = atomic_load(&n->advice);
	return atomic_load(&n->file) == h ? (enum fm_advice)advice :
					    FM_ADVICE_UNKNOWN;
}

unsigned fm_board_single(dev_t dev, ino_t ino)
{
	struct note *n = place(hash(dev, ino));

	return n ? atomic_fetch_add(&n->singles, 1) + 1 : 0;
}

void fm_board_row(dev_t dev, ino_t ino)
{
	struct note *n = place(hash(dev, ino));

	if (n)
		atomic_store(&n->singles, 0);
}

/* Of those whose time is over: none has lived, and there is one. */
static bool all_were_short(uint64_t now)
{
	bool any = false;

	for (unsigned i = 0; i < CHILDREN; i++) {
		const uint64_t at = atomic_load(&board->child[i].at_ms);

		if (!at || now < at + fm_tune.board_lives_ms)
			continue;
		if (atomic_load(&board->child[i].lives))
			return false;
		any = true;
	}
	return any;
}

bool fm_board_child_starts(unsigned *ret_slot)
{
	const uint64_t now = fm_now_ms();
	unsigned slot;

	*ret_slot = CHILDREN;
	if (!board)
		return true;
	if (all_were_short(now)) {
		uint64_t next = atomic_load(&board->probe_ms);

		if (now < next || !atomic_compare_exchange_strong(
					  &board->probe_ms, &next,
					  now + fm_tune.board_probe_ms))
			return false;
	}
	slot = atomic_load(&board->children) % CHILDREN;
	if (now <
	    atomic_load(&board->child[slot].at_ms) + fm_tune.board_lives_ms)
		return true; /* of many at once the first ones count */
	atomic_fetch_add(&board->children, 1);
	*ret_slot = slot;
	atomic_store(&board->child[*ret_slot].lives, false);
	atomic_store(&board->child[*ret_slot].at_ms, now);
	return true;
}

void fm_board_child_lives(unsigned slot)
{
	if (board && slot < CHILDREN)
		atomic_store(&board->child[slot].lives, true);
}
