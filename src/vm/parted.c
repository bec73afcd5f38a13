/* SPDX-License-Identifier: MIT */
/*
 * parted.c - a thread of the program leaves the table of descriptors that it
 * shares with ours (base/tables.h): all that is mapped becomes the kernel's.
 */
#include "advise/advise.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/pause.h"
#include "base/tables.h"
#include "engine.h"
#include "file/file.h"
#include "mapops.h"
#include "tunables.h"
#include "writeback/writeback.h"

/* By this thread, which has our descriptors still. The lock is waited for even
 * where nothing is mapped: an engine may be starting. */
static void parted_hand_over(void)
{
	FM_HOLD_SPACE();
	fm_demote_where(NULL, 0, FM_WHY_PARTED);
}

/* Returns how many are not the kernel's yet. */
static unsigned parted_ask_each(bool ask)
{
	struct fm_file *f;
	unsigned n = 0;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id) {
		if (!atomic_load(&f->maps) || fm_kernel_serves(f))
			continue;
		if (ask)
			fm_demote_ask(f, FM_WHY_PARTED);
		n++;
	}
	return n;
}

/* By a thread of ours, which has them. */
static void have_handed_over(void)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	bool ask = true;

	while (parted_ask_each(ask) && fm_wait_on(&w)) {
		if (ask)
			fm_wb_kick();
		ask = false;
	}
}

void fm_table_parts(void)
{
	fm_use_begins();
	atomic_fetch_add(&fm_tables_split, 1);
	if (fm_table_is_other())
		have_handed_over();
	else
		parted_hand_over();
}

void fm_table_stays(void)
{
	atomic_fetch_sub(&fm_tables_split, 1);
}

void fm_parted_look(void)
{
	if (fm_life_running() && fm_sys_may_ask() && fm_table_is_other())
		have_handed_over();
}
