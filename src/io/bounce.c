/* SPDX-License-Identifier: MIT */
#include "bounce.h"

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/shrinker.h"
#include "base/types.h"

#define SLOTS 256

static struct fm_bounce slots[SLOTS];
static struct fm_event returned; /* a buffer was put back */

static void bounce_reset(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (atomic_load(&slots[i].taken))
			atomic_store(&slots[i].taken, 0);
	fm_event_reset(&returned);
}

static FM_FAULT bool try_lock(struct fm_bounce *s)
{
	return !atomic_load_explicit(&s->taken, memory_order_relaxed) &&
	       !atomic_exchange(&s->taken, 1);
}

static FM_FAULT void bounce_unlock(struct fm_bounce *s)
{
	atomic_store(&s->taken, 0);
	fm_event_raise(&returned);
}

static FM_FAULT bool bounce_take_slot(struct fm_bounce *s)
{
	if (!try_lock(s))
		return false;
	if (!s->mem)
		s->mem = fm_sys_anon(FM_BOUNCE);
	if (s->mem) {
		fm_check_got(s, FM_RANK_BOUNCE);
		return true;
	}
	atomic_store(&s->taken, 0);
	return false;
}

FM_FAULT struct fm_bounce *fm_bounce_get(void)
{
	/* Threads differ in their stacks: each finds its own warm buffer,
	 * however deep it is in calls. */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) >> 18;
	unsigned hint = (unsigned)(here * 0x9e3779b1u >> 8);

	fm_check_ask(slots, FM_RANK_BOUNCE);
	for (;;) {
		uint32_t seen = fm_event_seen(&returned);

		for (unsigned i = 0; i < SLOTS; i++)
			if (bounce_take_slot(&slots[(hint + i) % SLOTS]))
				return &slots[(hint + i) % SLOTS];
		fm_event_wait(&returned, seen);
	}
}

/* Give back the memory of buffers that nobody has. */
static void bounce_trim(void)
{
	for (int i = 0; i < SLOTS; i++) {
		struct fm_bounce *s = &slots[i];

		if (!try_lock(s))
			continue;
		if (s->mem)
			fm_sys_madvise(s->mem, FM_BOUNCE, MADV_DONTNEED);
		bounce_unlock(s);
	}
}

FM_UP(shrink_idle, bounce_trim)

FM_FAULT void fm_bounce_put(struct fm_bounce *b)
{
	fm_check_put(b);
	bounce_unlock(b);
}

static int bounce_start(void)
{
	/* One at least: a fault must never find none. */
	if (!slots[0].mem)
		slots[0].mem = fm_sys_anon(FM_BOUNCE);
	return slots[0].mem ? 0 : -ENOMEM;
}

FM_LIFE(bounce, .level = FM_LIFE_MEMORY, .start = bounce_start,
	.reset = bounce_reset, .what = "cache", .remedy = "lower FASTMAP_CACHE")
