/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include <linux/kcmp.h>

#include "life.h"
#include "sys.h"
#include "thread.h"

_Atomic uint32_t fm_tables_split;
static _Atomic int owner; /* a thread with the engine's */

void fm_table_engine(void)
{
	atomic_store(&owner, fm_sys_gettid());
}

FM_FAULT bool fm_table_is_other(void)
{
	int tid = atomic_load(&owner);
	bool other = tid && !fm_sys_confined() &&
		     fm_sys5(SYS_kcmp, fm_sys_gettid(), tid, KCMP_FILES, 0,
			     0) > 0;

	/* One of ours that has its own opens nothing for others. */
	if (other && !fm_thread_without_fds())
		atomic_fetch_or(&fm_tables_split, FM_TABLES_FOUND);
	return other;
}

/* Who forks takes one table along. */
static void tables_forked(void)
{
	atomic_store(&owner, 0);
	atomic_store(&fm_tables_split, 0);
}

FM_LIFE(tables, .level = FM_LIFE_GATE, .forked = tables_forked)
