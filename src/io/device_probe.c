/* SPDX-License-Identifier: MIT */
#include "device_probe.h"

#include "base/life.h"
#include "base/sys.h"
#include "device.h"
#include "ring.h"
#include "store.h"
#include "tunables.h"

static _Atomic bool probing;

/* The first reads may have been those of a busy moment. */
static FM_FAULT unsigned every(const struct fm_file *f)
{
	const unsigned n = fm_tune.device_probe_every;

	return fm_device_known(f) ? n * n : n;
}

static FM_FAULT bool is_worth_it(struct fm_file *f)
{
	return !(atomic_fetch_add_explicit(&f->io->cached, 1,
					   memory_order_relaxed) %
		 every(f)) &&
	       !atomic_exchange(&probing, true);
}

/* Who sleeps for it measures how soon the thread runs again. */
static FM_FAULT void read_at_once(struct fm_io *io)
{
	struct fm_ring *r = fm_ring_get();

	fm_ring_submit(r, &io, 1);
	fm_ring_look(r);
	while (!io->done)
		fm_ring_reap(r);
	fm_ring_put(r);
}

FM_FAULT void fm_device_probe(struct fm_file *f, uint64_t off)
{
	static _Alignas(FM_PAGE) char page[FM_PAGE]; /* nobody reads it */
	struct fm_io io = {
		.file = f, .buf = page, .off = off, .len = FM_PAGE,
		.op = FM_READ,
	};

	if (!fm_rings_uring() || !is_worth_it(f))
		return;
	read_at_once(&io);
	atomic_store(&probing, false);
}

static void device_probe_reset(void)
{
	atomic_store(&probing, false);
}

FM_LIFE(device_probe, .level = FM_LIFE_IO, .reset = device_probe_reset)
