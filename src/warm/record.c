/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/sys.h"

struct fm_lock fm_warm_lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_warm_record records[FM_WARM_FILES];
static _Atomic unsigned used;

struct fm_warm_record *fm_warm_record_at(unsigned i)
{
	return i < atomic_load(&used) ? &records[i] : NULL;
}

struct fm_warm_record *fm_warm_record_find(dev_t dev, ino_t ino)
{
	struct fm_warm_record *r;

	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++)
		if (r->dev == dev && r->ino == ino)
			return r;
	return NULL;
}

bool fm_warm_records_full(void)
{
	return atomic_load(&used) == FM_WARM_FILES;
}

static struct fm_warm_record *add_locked(dev_t dev, ino_t ino, char *path)
{
	const unsigned n = atomic_load(&used);
	struct fm_warm_record *r = fm_warm_record_find(dev, ino);

	if (r || n == FM_WARM_FILES)
		return NULL;
	r = &records[n];
	*r = (struct fm_warm_record){ .path = path, .dev = dev, .ino = ino,
				      .since_ms = fm_now_ms() };
	atomic_store(&used, n + 1);
	return r;
}

struct fm_warm_record *fm_warm_record_add(dev_t dev, ino_t ino,
					  const char *path)
{
	const size_t n = strlen(path) + 1;
	char *copy = fm_alloc(n);
	struct fm_warm_record *r = NULL;
	uint64_t old;

	if (copy) {
		memcpy(copy, path, n);
		fm_block_signals(&old);
		fm_lock(&fm_warm_lock);
		r = add_locked(dev, ino, copy);
		fm_unlock(&fm_warm_lock);
		fm_restore_signals(&old);
	}
	if (!r)
		fm_free(copy);
	return r;
}

void fm_warm_records_forked(void)
{
	const int parent = (int)fm_sys0(SYS_getppid);
	struct fm_warm_record *r;

	fm_lock_reset(&fm_warm_lock);
	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++) {
		atomic_store(&r->due, false);
		atomic_store(&r->looked, true);
		if (atomic_load(&r->outcome) == FM_LOOK_NOT_YET)
			atomic_store(&r->outcome, FM_LOOK_ABSENT);
		atomic_store(&r->known, 0);
		r->parent = parent;
		/* as they were in the middle of a change */
		r->old = r->gone = (struct fm_warm_pages){ .n = 0 };
	}
}

/* The guardian is the child of another. */
static bool has_gone(int parent, bool dead)
{
	return dead ? fm_sys2(SYS_kill, parent, 0) == -ESRCH :
		      fm_sys0(SYS_getppid) != parent;
}

bool fm_warm_record_ours(const struct fm_warm_record *r, bool dead)
{
	return !r->parent || has_gone(r->parent, dead);
}

#define WANTED (STATX_INO | STATX_SIZE | STATX_MTIME | STATX_BTIME)
#define SECOND 1000000000 /* unit: ns */

int fm_warm_identify(const char *path, dev_t *ret_dev,
		     struct fm_warm_head *ret)
{
	struct statx sx;
	int err = (int)fm_sys5(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
			       WANTED, &sx);

	if (err)
		return err;
	*ret_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	*ret = (struct fm_warm_head){
		.ino = sx.stx_ino, .size = sx.stx_size,
		.mtime = sx.stx_mtime.tv_sec * SECOND + sx.stx_mtime.tv_nsec,
		.path = path, .path_len = strlen(path),
	};
	if (sx.stx_mask & STATX_BTIME)
		ret->born = (uint64_t)sx.stx_btime.tv_sec * SECOND +
			    sx.stx_btime.tv_nsec;
	return 0;
}
