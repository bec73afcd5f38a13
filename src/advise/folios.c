/* SPDX-License-Identifier: MIT */
#include "folios.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "base/types.h"
#include "krange.h"
#include "streams.h"
#include "tunables.h"

#define QUEUE 64
#define PIECE FM_HUGE

static struct {
	uint32_t id;
	uintptr_t at, end;
} queue[QUEUE];
static unsigned n;

/* What does not fit into the queue stays as it is. */
void fm_folios_leave(uint32_t id, uintptr_t start, uintptr_t end)
{
	for (unsigned i = 0; i < n; i++)
		if (queue[i].id == id && queue[i].at <= start &&
		    queue[i].end >= end)
			return;
	if (n == QUEUE)
		return;
	queue[n].id = id;
	queue[n].at = start;
	queue[n].end = end;
	n++;
}

/* Clean pages that nobody else has mapped; dirty ones stay. Whatever lies there
 * by now loses nothing but its place in memory. */
static void folios_leave(uint32_t id, uintptr_t at, uintptr_t end)
{
	if (fm_krange_has(id, at, end))
		fm_sys_madvise((void *)at, end - at, MADV_PAGEOUT);
}

void fm_folios_turn(void)
{
	const uint64_t until = fm_now_ms() + fm_tune.advise_turn_ms;
	uint64_t begin;
	uintptr_t to;

	if (!n)
		return;
	begin = fm_cpu_ns() / 1000;
	while (n && fm_now_ms() < until) {
		to = (queue[n - 1].at + PIECE) & ~(PIECE - 1);
		to = to < queue[n - 1].end ? to : queue[n - 1].end;
		folios_leave(queue[n - 1].id, queue[n - 1].at, to);
		queue[n - 1].at = to;
		n -= to == queue[n - 1].end;
	}
	atomic_fetch_add(&fm_streams_counts.cpu_us,
			 fm_cpu_ns() / 1000 - begin);
}
