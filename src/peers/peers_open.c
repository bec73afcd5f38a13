/* SPDX-License-Identifier: MIT */
/*
 * peers_open.c - who has opened which of our files, as far as events tell,
 * until that is judged (peers_judge.c).
 */
#include "base/sys.h"
#include "file/file.h"
#include "opens.h"
#include "peers_priv.h"

struct fm_file_openers fm_opens[FM_MAX_FILES];
static _Atomic uint32_t pending; /* files with since_ms */

uint32_t fm_open_now_ms(void)
{
	return (uint32_t)fm_now_ms() | 1;
}

bool fm_open_begin(struct fm_file_openers *o)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&o->since_ms, &none,
					    fm_open_now_ms()))
		return false;
	atomic_fetch_add(&pending, 1);
	return true;
}

bool fm_open_end(struct fm_file_openers *o)
{
	if (!atomic_exchange(&o->since_ms, 0))
		return false;
	atomic_fetch_sub(&pending, 1);
	return true;
}

/* Nobody else could open it, but the superuser. */
static bool peers_open_is_private(const struct fm_file *f)
{
	struct stat st;

	return !fm_sys_fstat(f->io->path, &st) && !(st.st_mode & 077) &&
	       st.st_uid == (uid_t)fm_sys0(SYS_geteuid);
}

/* Where events do not name processes, whoever he is. */
bool fm_open_unseen(const struct fm_file *f)
{
	const struct fm_openers *who = &fm_opens[f->id].who;

	return fm_openers_hidden(who) ||
	       ((fm_watch_by_inotify(f) || fm_openers_unnamed(who)) &&
		!peers_open_is_private(f));
}

void fm_open_closed(const struct fm_file *f, int pid)
{
	fm_openers_closed(&fm_opens[f->id].who, pid);
}

void fm_open_forget(const struct fm_file *f)
{
	fm_openers_forget(&fm_opens[f->id].who);
	fm_open_end(&fm_opens[f->id]);
}

void fm_open_reset(void)
{
	fm_sys_clear(fm_opens, sizeof(fm_opens));
	atomic_store(&pending, 0);
}

uint32_t fm_open_pending(void)
{
	return atomic_load(&pending);
}
