/* SPDX-License-Identifier: MIT */
#include "save.h"

#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "dir.h"
#include "gather.h"
#include "policy.h"
#include "tunables.h"

#define SECOND 1000000000 /* unit: ns */
#define LATE (2 * SECOND) /* unit: other destructors store, too */

/* The thread has no standard error of its own: what it meets is met again at
 * the end. */
static void save_say_once(enum fm_save_when when, const char *what, int err)
{
	static _Atomic bool said;

	if (when == FM_SAVE_END && !atomic_exchange(&said, true))
		fm_log(FM_LOG_WARN, "%s: %s, errno %d: %s (a directory of this "
		       "user that nobody else may write to; or warm-start=off)",
		       fm_settings()->warm_dir, what, -err,
		       fm_error_text(-err));
}

static bool save_is_named(void)
{
	const char *s = fm_settings()->warm_start;

	return s && strcmp(s, "auto");
}

static int open_dir(bool make)
{
	return fm_settings()->warm_dir ?
		fm_warm_dir_open(fm_settings()->warm_dir, make) : -ENOENT;
}

/* ---- looking for a state ----------------------------------------------- */

/*
 * The file that the state is of. Stores of the process that wrote it have
 * changed the file's time, by its end or a moment later; or until it was
 * killed, where the state was written while it worked. A later change is
 * somebody else's, an earlier time another file's.
 */
static bool save_is_of(const struct fm_warm_head *h,
		       const struct fm_warm_head *f)
{
	if (h->ino != f->ino || (h->born && f->born && h->born != f->born) ||
	    h->path_len != f->path_len ||
	    memcmp(h->path, f->path, f->path_len) || f->mtime < h->mtime)
		return false;
	return h->live ? f->size >= h->size :
		f->size == h->size && f->mtime <= h->saved + LATE;
}

/* Pages of the state, or why not. */
static enum fm_look_outcome understand(const struct fm_warm_record *r,
				       const uint8_t *bytes, size_t len,
				       struct fm_warm_pages *p)
{
	struct fm_warm_head h, f;
	dev_t dev;

	if (fm_warm_state_head(bytes, len, &h))
		return FM_LOOK_BROKEN;
	if (fm_warm_identify(r->path, &dev, &f) || dev != r->dev ||
	    f.ino != r->ino || !save_is_of(&h, &f))
		return FM_LOOK_STALE;
	if (fm_warm_pages_make(p, fm_page_up(f.size) >> FM_PAGE_SHIFT))
		return FM_LOOK_BROKEN;
	if (!fm_warm_state_pages(&h, bytes, len, p))
		return FM_LOOK_READ;
	fm_warm_pages_free(p);
	return FM_LOOK_BROKEN;
}

static void take_old(struct fm_warm_record *r, struct fm_warm_pages p)
{
	uint64_t n[FM_HOT_LEVELS];

	fm_warm_count(&p, n);
	atomic_store(&r->known, n[1] + n[2] + n[3]);
	FM_HOLD(&fm_warm_lock);
	r->old = p;
}

static enum fm_look_outcome no_bytes(int err)
{
	return err == -ENOENT ? FM_LOOK_ABSENT : FM_LOOK_BROKEN;
}

static enum fm_look_outcome save_look_in(int dir, struct fm_warm_record *r,
					 int *ret_lock)
{
	struct fm_warm_pages p = { .n = 0 };
	enum fm_look_outcome o;
	size_t len = 0;
	int err;
	uint8_t *bytes = fm_warm_dir_read(dir, r->path, &len, ret_lock, &err);

	o = bytes ? understand(r, bytes, len, &p) : no_bytes(err);
	if (bytes)
		fm_warm_dir_free(bytes, len);
	if (o == FM_LOOK_READ)
		take_old(r, p);
	return o == FM_LOOK_READ && *ret_lock < 0 ? FM_LOOK_TAKEN : o;
}

/* The outcome is stored when all that belongs to it is there. */
int fm_warm_look(struct fm_warm_record *r)
{
	enum fm_look_outcome o = FM_LOOK_ABSENT;
	int dir, lock = -1;

	if (atomic_exchange(&r->looked, true))
		return -1;
	dir = open_dir(false);
	if (dir >= 0) {
		o = save_look_in(dir, r, &lock);
		fm_sys_close(dir);
	}
	atomic_store(&r->outcome, (uint8_t)o);
	return lock;
}

/* ---- saving ------------------------------------------------------------ */

/* What is hot now, what was when it was unmapped, and what had no room or no
 * time to come back, a little cooler. */
static void hot_pages(struct fm_warm_record *r, enum fm_save_when when,
		      struct fm_warm_pages *p)
{
	const struct fm_warm_where w = { 0, UINTPTR_MAX,
					 when == FM_SAVE_DEAD };

	fm_warm_gather(r, &w, p);
	FM_HOLD(&fm_warm_lock);
	fm_warm_merge(p, &r->gone, 0);
	if (fm_now_ms() - r->since_ms < fm_tune.warm_every_ms)
		fm_warm_merge(p, &r->old, 1);
}

static int write_state(int dir, struct fm_warm_record *r,
		       const struct fm_warm_head *h,
		       const struct fm_warm_pages *p)
{
	const size_t room = fm_page_up(fm_warm_state_room(h, p));
	uint8_t *buf = fm_sys_anon(room);
	size_t len;
	int err;

	if (!buf)
		return -ENOMEM;
	len = fm_warm_state_write(h, p, buf);
	err = fm_warm_dir_write(dir, r->path, buf, len);
	fm_sys_munmap(buf, room);
	return err;
}

/* 1: written; 0: there is nothing to say, or nobody to say it of. */
static int save_one(int dir, struct fm_warm_record *r, enum fm_save_when when)
{
	struct fm_warm_pages p;
	struct fm_warm_head h;
	struct timespec now;
	dev_t dev;
	int err = fm_warm_identify(r->path, &dev, &h);

	if (err || dev != r->dev || h.ino != r->ino)
		return 0;
	err = fm_warm_pages_make(&p, fm_page_up(h.size) >> FM_PAGE_SHIFT);
	if (err)
		return err;
	hot_pages(r, when, &p);
	fm_clock(CLOCK_REALTIME, &now);
	h.saved = now.tv_sec * SECOND + now.tv_nsec;
	h.live = when == FM_SAVE_LIVE;
	if (fm_warm_next(&p, 0, FM_HOT_PAST) < p.n) {
		err = write_state(dir, r, &h, &p);
		err = err ? err : 1;
	}
	fm_warm_pages_free(&p);
	return err;
}

/* False: another thread is, or was, in the middle of it, and what the state
 * says is not known: it stays as it is. */
static bool look_first(struct fm_warm_record *r)
{
	const int lock = fm_warm_look(r);

	if (lock >= 0)
		fm_sys_close(lock);
	return atomic_load(&r->outcome) != FM_LOOK_NOT_YET;
}

int fm_warm_save_all(enum fm_save_when when, bool make)
{
	const int dir = open_dir(make || save_is_named());
	struct fm_warm_record *r;
	int n = 0, err = 0;

	/* by default it need not be there, nor this user's to look into */
	if (dir < 0 && (dir == -EPERM || save_is_named()))
		save_say_once(when,
			      "states of a warm start cannot be kept there",
			      dir);
	if (dir < 0)
		return dir;
	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++) {
		int one;

		if (!fm_warm_record_ours(r, when == FM_SAVE_DEAD) ||
		    !look_first(r))
			continue;
		one = save_one(dir, r, when);
		n += one > 0;
		err = one < 0 && one != -EBUSY ? one : err;
	}
	fm_sys_close(dir);
	if (err)
		save_say_once(when, "a state of a warm start was not written",
			      err);
	return n || !err ? n : err;
}
