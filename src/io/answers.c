/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "base/sys.h"
#include "ring.h"
#include "store.h"

/* Who sees that it is asked sees since when, too. */
FM_FAULT void fm_answers_begin(struct fm_io *io)
{
	struct fm_file_io *f = io->file->io;

	if (io->asked)
		return;
	io->asked = true;
	if (!atomic_load_explicit(&f->asked, memory_order_relaxed))
		atomic_store_explicit(&f->heard_ms, fm_now_ms(),
				      memory_order_relaxed);
	atomic_fetch_add_explicit(&f->asked, 1, memory_order_release);
}

FM_FAULT void fm_answers_end(struct fm_io *io)
{
	struct fm_file_io *f = io->file->io;

	if (!io->asked)
		return;
	io->asked = false;
	atomic_store_explicit(&f->heard_ms, fm_now_ms(), memory_order_relaxed);
	atomic_fetch_sub_explicit(&f->asked, 1, memory_order_relaxed);
}

FM_FAULT uint64_t fm_answers_silent_ms(const struct fm_file *f)
{
	const uint32_t asked = atomic_load_explicit(&f->io->asked,
						    memory_order_acquire);
	const uint64_t heard = atomic_load_explicit(&f->io->heard_ms,
						    memory_order_relaxed);
	const uint64_t now = fm_now_ms();

	return asked && now > heard ? now - heard : 0;
}
