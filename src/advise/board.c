/* SPDX-License-Identifier: MIT */
#include "board.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "engine.h"

#define FILES 256
#define OLD_MS 30000

/* A file is one of so many by its hash; who has the place loses it to who
 * comes. */
static struct note {
	_Atomic uint64_t file; /* hash */
	_Atomic uint64_t at_ms;
	_Atomic uint32_t advice;
} *board;

static uint64_t hash(dev_t dev, ino_t ino)
{
	return (ino ^ dev << 32) * 0x9e3779b97f4a7c15ull | 1;
}

void fm_board_start(void)
{
	void *p;

	if (board)
		return;
	p = fm_sys_mmap(NULL, FILES * sizeof(*board), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fm_is_err(p))
		board = p;
}

void fm_board_post(dev_t dev, ino_t ino, enum fm_advice advice)
{
	const uint64_t h = hash(dev, ino);
	struct note *n = board ? &board[(h >> 40) % FILES] : NULL;

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
	const struct note *n = board ? &board[(h >> 40) % FILES] : NULL;
	uint32_t advice;

	if (!n || atomic_load(&n->file) != h ||
	    atomic_load(&n->at_ms) + OLD_MS < fm_now_ms())
		return FM_ADVICE_UNKNOWN;
	advice = atomic_load(&n->advice);
	return atomic_load(&n->file) == h ? (enum fm_advice)advice :
					    FM_ADVICE_UNKNOWN;
}
