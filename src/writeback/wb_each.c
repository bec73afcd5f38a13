/* SPDX-License-Identifier: MIT */
/* wb_each.c - what is asked of a file, or of all, for those who use it
 * otherwise than by mapping it. */
#include "wb_priv.h"

#include "base/epoch.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"

/*
 * The program also uses read(2) or write(2) on this file. A direct write that
 * collides with a buffered read leaves the old data in the page cache (the
 * kernel says so in its log), so from now on write-back goes through the page
 * cache as well. Direct writes in flight are waited for.
 */
void fm_file_mixed(struct fm_file *f)
{
	if (atomic_load(&f->wb->mixed))
		return;
	atomic_store(&f->wb->buffered, true);
	fm_wb_file(f);
	atomic_store(&f->wb->mixed, true); /* until now everybody waits */
}

int fm_wb_each(int (*fn)(struct fm_file *f))
{
	int err = 0;
	uint64_t old;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f;
		unsigned e;
		int one;

		fm_block_signals(&old);
		e = fm_epoch_enter();
		f = fm_file_at(id);
		one = f && !f->ephemeral && fm_dirty_count(f) ? fn(f) : 0;
		fm_epoch_leave(e);
		fm_restore_signals(&old);
		if (!err)
			err = one;
	}
	return err;
}

_Atomic bool fm_fds_shared;

void fm_engine_flush_all(void)
{
	if (fm_active())
		fm_wb_each(fm_wb_file);
}

void fm_engine_flush_for_others(void)
{
	if (!atomic_load(&fm_fds_shared))
		atomic_store(&fm_fds_shared, true);
	fm_engine_flush_all();
}

int fm_wb_sync(struct fm_file *f)
{
	struct fm_io io = { .file = f, .op = FM_FSYNC, .buffered = true };
	long res;

	FM_BLOCK_SIGNALS();
	res = fm_io_once(&io);
	return (int)res;
}

int fm_wb_error(struct fm_file *f)
{
	return -(int)atomic_exchange(&f->wb->err, 0);
}
