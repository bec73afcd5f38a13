/* SPDX-License-Identifier: MIT */
#include "async.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"

#define BUF 2048

static const enum fm_server_reason why = FM_WHY_ASYNC_OPEN;

_Atomic bool fm_async;

/* The flags of a descriptor of the program's. -1: there is none, or of no use
 * for data. */
static int async_mode_of(int fd, struct stat *st)
{
	long fl;

	if (fm_fd_is_ours(fd))
		return -1;
	fl = fm_sys2(SYS_fcntl, fd, F_GETFL);
	if (fl < 0 || (fl & O_PATH) || fm_sys_fstat(fd, st) ||
	    !S_ISREG(st->st_mode))
		return -1;
	return (int)fl & O_ACCMODE;
}

/* Dirty pages are not in the file that a ring reads. */
static bool stored_to(const struct fm_file *f)
{
	return f->io->writable || atomic_load(&f->stores_wanted);
}

static void async_give(const struct stat *st, int mode)
{
	struct fm_file *f = fm_file_find(st->st_dev, st->st_ino);

	if (!f)
		return;
	if (mode != O_RDONLY || stored_to(f))
		fm_file_demote(f, why);
	fm_file_put(f);
}

static void async_look_at(const char *dir, int fd, void *arg)
{
	struct stat st;
	int mode = async_mode_of(fd, &st);

	if (mode >= 0)
		async_give(&st, mode);
}

void fm_async_begins(void)
{
	_Alignas(struct dirent64) char buf[BUF];

	uint64_t mask;

	if (atomic_exchange(&fm_async, true))
		return;
	fm_space_lock(&mask); /* who has not seen it has mapped by now */
	fm_space_unlock(&mask);
	if (!fm_active() || fm_sys_confined())
		return;
	fm_each_number("/proc/self/fd", buf, sizeof(buf), async_look_at, NULL);
}

void fm_async_opened(int fd)
{
	struct stat st;
	int mode = fm_active() ? async_mode_of(fd, &st) : -1;

	if (mode >= 0)
		async_give(&st, mode);
}

struct search {
	const struct stat *st;
	bool found;
};

static void look_for(const char *dir, int fd, void *arg)
{
	struct search *s = arg;
	struct stat st;
	int mode = s->found ? -1 : async_mode_of(fd, &st);

	if (mode > O_RDONLY && st.st_ino == s->st->st_ino &&
	    st.st_dev == s->st->st_dev)
		s->found = true;
}

bool fm_async_wants(const struct stat *st, bool stores, int flags)
{
	_Alignas(struct dirent64) char buf[BUF];
	struct search s = { st, false };

	if (!atomic_load(&fm_async))
		return false;
	if (stores || (flags & O_ACCMODE) != O_RDONLY)
		return true;
	/* What cannot be looked at may be anything. */
	return fm_each_number("/proc/self/fd", buf, sizeof(buf), look_for, &s) <
		       0 ||
	       s.found;
}
