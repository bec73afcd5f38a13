/* SPDX-License-Identifier: MIT */
#include "memory_device.h"

#include "base/life.h"
#include "base/sys.h"
#include "demand.h"
#include "device.h"
#include "ring.h"
#include "store.h"
#include "tunables.h"

static _Atomic bool probing;
/* The last device that was judged to be so, plus one: the next file there need
 * not find it out by as many reads. */
static _Atomic uint64_t fast;

static FM_FAULT unsigned window(const struct fm_file *f)
{
	return atomic_load_explicit(&fast, memory_order_relaxed) ==
			       (uint64_t)f->dev + 1 ?
		       fm_tune.memory_device_again :
		       fm_tune.memory_device_window;
}

static FM_FAULT bool is_zero(const uint64_t *page)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < FM_PAGE / sizeof(*page);
	     i += fm_tune.memory_device_step)
		any |= page[i] | page[i + 1];
	return !any;
}

/* Where threads wait for a processor a completion is often there when the call
 * returns, for the thread was away meanwhile: the time of a read tells. */
static FM_FAULT bool is_fast(const struct fm_file *f, uint32_t early,
			     unsigned reads)
{
	return early * 10 >= reads * 9 && fm_device_by_pages(f);
}

/* The end of a window. Who reads ahead is better off with the engine. */
static FM_FAULT void judge(struct fm_file *f, unsigned reads)
{
	const uint64_t ahead = atomic_load(&f->st.ahead_pages);
	const uint32_t early = atomic_exchange(&f->io.early, 0);
	const uint64_t came = ahead - atomic_exchange(&f->io.ahead, ahead);
	uint64_t here = (uint64_t)f->dev + 1;

	if (!is_fast(f, early, reads)) {
		atomic_compare_exchange_strong(&fast, &here, 0);
		return;
	}
	atomic_store(&fast, here);
	atomic_store(&f->io.late, 0);
	atomic_store(&f->io.at_once, came < reads);
}

FM_FAULT void fm_memory_device_note(const struct fm_io *io)
{
	struct fm_file *f = io->file;
	const unsigned reads = window(f);

	if (io->buffered || io->len != FM_PAGE || !fm_store_of(f)->direct)
		return;
	if (io->done && (io->res != (int32_t)FM_PAGE || is_zero(io->buf)))
		return;
	atomic_fetch_add_explicit(io->done ? &f->io.early : &f->io.late, 1,
				  memory_order_relaxed);
	if (atomic_fetch_add_explicit(&f->io.singles, 1,
				      memory_order_relaxed) % reads ==
	    reads - 1)
		judge(f, reads);
}

static FM_FAULT bool is_worth_a_probe(struct fm_file *f)
{
	return !(atomic_fetch_add_explicit(&f->io.cached, 1,
					   memory_order_relaxed) %
		 fm_tune.memory_device_probe) &&
	       atomic_load_explicit(&f->io.late, memory_order_relaxed) <=
		       fm_tune.memory_device_late +
			       atomic_load_explicit(&f->io.early,
						    memory_order_relaxed) &&
	       !atomic_exchange(&probing, true);
}

FM_FAULT void fm_memory_device_probe(struct fm_file *f, uint64_t off)
{
	static _Alignas(FM_PAGE) char page[FM_PAGE]; /* nobody reads it */
	struct fm_io io = {
		.file = f, .buf = page, .off = off, .len = FM_PAGE,
		.op = FM_READ,
	};

	if (!fm_rings_uring() || !is_worth_a_probe(f))
		return;
	fm_demand_watched(&io);
	atomic_store(&probing, false);
}

FM_FAULT bool fm_memory_device_seen(struct fm_file *f)
{
	return atomic_exchange(&f->io.at_once, false);
}

static void reset(void)
{
	atomic_store(&probing, false);
}

FM_LIFE(memory_device, .level = FM_LIFE_IO, .reset = reset)
