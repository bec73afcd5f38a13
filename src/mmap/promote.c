/* SPDX-License-Identifier: MIT */
/*
 * promote.c - the inverse of demote.c.
 *
 *  1. what has been stored goes to the device (msync), and the memory is made
 *     that is to take the mapping's place: nobody waits yet;
 *  2. the file is opened and claimed, as when it is mapped for the first time,
 *     and the mappings are still those of before;
 *  3. freeze, and publish the mappings: from now on system calls and changes of
 *     the address space see them, and wait. Loads and stores go on;
 *  4. wait for those calls that began before; if one takes long, all is as it
 *     was;
 *  5. lay the memory over the kernel's mapping, in one step for each
 *     (promote_trap.h): who touches it waits, and what was stored before is in
 *     the page cache;
 *  6. that goes to the device, too, or the kernel's mapping is put back: loads
 *     by direct I/O find it all;
 *  7. thaw.
 *
 * Whoever dies in between leaves nothing behind that is not in the page cache:
 * until it thaws no page of ours has ever been touched.
 */
#include "promote.h"

#include <string.h>
#include <sys/mman.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/epoch.h"
#include "base/life.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/tables.h"
#include "base/vma_room.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "peers/peers.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "rw/rw.h"
#include "promote_trap.h"
#include "tunables.h"
#include "vetoes.h"
#include "vm/vm.h"

/* Nothing is promoted with one of these. */
#define TAKE (FM_VETO_LASTING | FM_VETO_LOCKED | FM_VETO_LIMITS | FM_VETO_MEANS)

#define MOST_RANGES 1024u /* size: changed in one piece */
#define MOST_BYTES ((size_t)64 << 30) /* size: the same, 0.1 s frozen */

struct part {
	struct fm_krange r;
	struct fm_trap trap;
	struct fm_map *m; /* NULL: not published */
	uint32_t edit;    /* not to be advised meanwhile */
	bool laid;
};

struct take {
	struct fm_file *f;
	enum fm_server_reason why;
	struct part *v;
	unsigned n;
	struct fm_vma_room room;
	bool stores;
	uint32_t vetoes;  /* enum fm_veto, of TAKE */
	const char *step; /* at which it is given up, if it is */
};

/* ---- may it be? -------------------------------------------------------- */

static size_t len_of(const struct fm_krange *r)
{
	return r->end - r->start;
}

static int promote_list(const struct fm_file *f, struct fm_krange_all *ret)
{
	const struct fm_file_id id = { f->dev, f->ino };

	return fm_krange_all(&id, ret);
}

static int make_parts(struct take *t, const struct fm_krange_all *all)
{
	size_t bytes = 0;

	t->vetoes = fm_vetoes(t->f, TAKE, all);
	if (all->n > MOST_RANGES || t->vetoes)
		return -EOPNOTSUPP;
	t->v = fm_alloc(all->n * sizeof(*t->v));
	if (!t->v)
		return -EBUSY;
	for (; t->n < all->n; t->n++) {
		t->v[t->n].r = all->at[t->n];
		t->stores |= all->at[t->n].maywrite;
		bytes += len_of(&all->at[t->n]);
	}
	return bytes > MOST_BYTES ? -EOPNOTSUPP : 0;
}

static int find_ranges(struct take *t)
{
	struct fm_krange_all all;
	int err = promote_list(t->f, &all) ? -EBUSY : make_parts(t, &all);

	fm_free(all.at);
	return err;
}

/* ---- before anybody waits ---------------------------------------------- */

static int promote_prepare(struct take *t)
{
	int err = find_ranges(t);

	for (unsigned k = 0; k < t->n && !err; k++) {
		const struct fm_krange *r = &t->v[k].r;

		/* Of errors the program is told, by its own calls. */
		if (t->stores)
			fm_sys3(SYS_msync, r->start, len_of(r), MS_SYNC);
		err = fm_trap_make(&t->v[k].trap, r->start, len_of(r),
				   fm_uffd_vma_prot(r->prot, len_of(r)));
	}
	return err ? err : fm_vma_room_take(&t->room, t->n);
}

static void promote_finish(struct take *t, int err)
{
	if (err)
		fm_log(FM_LOG_DEBUG, "%s: not promoted, errno %d at: %s "
		       "(vetoes %x)", t->f->path, -err, t->step, t->vetoes);
	for (unsigned k = 0; t->v && k < t->n; k++)
		fm_trap_free(&t->v[k].trap);
	fm_vma_room_end(&t->room);
	fm_free(t->v);
}

/* ---- published --------------------------------------------------------- */

static int promote_publish(struct take *t, struct part *p)
{
	const struct fm_krange *r = &p->r;
	struct fm_map *m;
	int err = fm_file_grow_leaves(t->f, r->pgoff,
				      len_of(r) >> FM_PAGE_SHIFT);

	m = err ? NULL : fm_map_new(t->f, r->start, len_of(r), r->pgoff);
	if (!m)
		return -ENOMEM;
	fm_file_get(t->f);
	atomic_store(&m->prot, r->prot);
	atomic_store(&m->vma_prot,
		     fm_uffd_vma_prot(r->prot, len_of(r)) == r->prot);
	if (r->said)
		atomic_store(&m->advice, r->said);
	m->shared = true;
	m->maywrite = r->maywrite;
	m->fd = r->fd;
	fm_map_note_aliases(m);
	p->m = m;
	return fm_map_publish(m);
}

/* What fastmap_pin has locked there is pinned here, and nothing else: the file
 * may have been ours before. Pages may be mapped more than once. */
static void take_pins(struct take *t, bool pinned)
{
	for (unsigned k = 0; k < t->n; k++)
		if (t->v[k].r.pinned == pinned)
			fm_shares_pin(t->f, t->v[k].r.pgoff,
				      len_of(&t->v[k].r) >> FM_PAGE_SHIFT,
				      pinned);
}

static int publish_all(struct take *t)
{
	unsigned e = fm_epoch_enter();
	int err = 0;

	fm_chunk_forget(t->f, 0, FM_MAX_FILE_PAGES);
	fm_epoch_leave(e);
	fm_freeze(t->f);
	for (unsigned k = 0; k < t->n && !err; k++)
		err = promote_publish(t, &t->v[k]);
	if (atomic_load(&t->f->shares->asked))
		take_pins(t, false);
	take_pins(t, true);
	return err;
}

static void promote_unpublish(struct take *t)
{
	for (unsigned k = 0; k < t->n; k++) {
		const struct fm_krange *r = &t->v[k].r;

		if (!t->v[k].m)
			continue;
		fm_space_set(r->start, r->end, NULL);
		fm_map_unlink(t->v[k].m);
		t->v[k].m = NULL;
	}
}

/* ---- nobody else is at it ---------------------------------------------- */

static bool same(const struct fm_krange *a, const struct fm_krange *b)
{
	return a->start == b->start && a->end == b->end &&
	       a->pgoff == b->pgoff && a->prot == b->prot &&
	       a->said == b->said && a->pinned == b->pinned &&
	       a->maywrite == b->maywrite && !b->edit;
}

static bool ranges_are_same(const struct take *t)
{
	struct fm_krange_all all;
	bool yes = !promote_list(t->f, &all) && all.n == t->n &&
		   !fm_vetoes(t->f, FM_VETO_RANGES, &all);

	for (unsigned k = 0; k < t->n && yes; k++)
		yes = same(&t->v[k].r, &all.at[k]);
	fm_free(all.at);
	return yes;
}

/* They were listed without the space lock: where one of them was, a mapping of
 * ours may be by now, which must not be hidden by it. */
static int still_there(struct take *t)
{
	if (ranges_are_same(t))
		return 0;
	t->step = "its mappings have changed";
	return -EBUSY;
}

struct look {
	const struct take *t;
	size_t found; /* bytes */
	bool wrong;
};

static const struct part *part_at(const struct take *t, uintptr_t a)
{
	for (unsigned k = 0; k < t->n; k++)
		if (a >= t->v[k].r.start && a < t->v[k].r.end)
			return &t->v[k];
	return NULL;
}

/* By the inode's number alone (proc.h). */
static bool promote_look_at_line(const struct fm_proc_map *l, void *arg)
{
	struct look *look = arg;

	look->found += l->end - l->start;
	for (uintptr_t a = l->start; a < l->end && !look->wrong;) {
		const struct part *p = part_at(look->t, a);

		look->wrong = !p || !l->shared ||
			      l->write != !!(p->r.prot & PROT_WRITE);
		a = p ? p->r.end : l->end;
	}
	return look->wrong;
}

/* The kernel has these mappings of the file, and no other. */
static bool promote_is_all(const struct take *t)
{
	static char buf[16384]; /* under the space lock */
	struct look look = { .t = t };
	size_t want = 0;

	for (unsigned k = 0; k < t->n; k++)
		want += len_of(&t->v[k].r);
	return !fm_proc_maps_of(FM_OWN_MAPS, t->f->ino, buf, sizeof(buf),
				promote_look_at_line, &look) &&
	       !look.wrong && look.found == want;
}

/* By system calls with data there, counted in either way. */
static bool nothing_used(const struct take *t)
{
	bool yes = fm_counted_calls_wait(fm_tune.moment_ms);

	for (unsigned k = 0; k < t->n && yes; k++)
		yes = fm_pin_wait((void *)t->v[k].r.start, len_of(&t->v[k].r));
	return yes;
}

/* Whoever begins from now on finds the mappings. */
static int quiet(struct take *t)
{
	const struct stat st = { .st_dev = t->f->dev, .st_ino = t->f->ino };

	fm_fence();
	t->step = "writes in flight";
	if (!fm_writes_wait(&st))
		return -EBUSY;
	t->step = "system calls that use its memory";
	if (!nothing_used(t))
		return -EBUSY;
	t->step = "its mappings have changed";
	return ranges_are_same(t) && promote_is_all(t) ? 0 : -EBUSY;
}

/* ---- the change -------------------------------------------------------- */

/* For the way back, before the first is laid: what may be refused is refused
 * here. Locked it would count twice. */
static int promote_keep_all(struct take *t)
{
	int err = 0;

	for (unsigned k = 0; k < t->n && !err; k++) {
		struct part *p = &t->v[k];

		if (p->r.pinned)
			fm_sys2(SYS_munlock, p->r.start, len_of(&p->r));
		err = fm_trap_keep(&p->trap, p->r.start);
	}
	return err;
}

static int promote_lay_all(struct take *t)
{
	int err = 0;

	for (unsigned k = 0; k < t->n && !err; k++) {
		struct part *p = &t->v[k];

		p->edit = fm_krange_edit((void *)p->r.start, len_of(&p->r));
		p->laid = true;
		err = fm_trap_lay(&p->trap, p->r.start);
	}
	return err;
}

/* What cannot be written stays with the page cache, which has it. */
static int all_on_device(struct take *t)
{
	struct fm_io io = { .file = t->f, .op = FM_FSYNC, .buffered = true };
	long err;

	if (!t->stores)
		return 0;
	do
		err = fm_io_once(&io);
	while (err == -EINTR || err == -ECANCELED);
	return err < 0 ? (int)err : 0;
}

static void put_back(struct take *t, struct part *p)
{
	const struct fm_krange *r = &p->r;
	int err = fm_trap_back(&p->trap, r->start, &t->room);

	if (err)
		fm_log(FM_LOG_ERROR, "%s: a mapping is gone: it could not be "
		       "put back, errno %d", t->f->path, -err);
	fm_krange_edit_ends(p->edit, (void *)r->start, len_of(r), err);
}

static void promote_give_up(struct take *t)
{
	for (unsigned k = 0; k < t->n; k++) {
		struct part *p = &t->v[k];

		if (p->laid)
			put_back(t, p);
		if (p->r.pinned)
			fm_krange_unlocked((void *)p->r.start, len_of(&p->r));
	}
	promote_unpublish(t);
	fm_peers_gave_up(t->f);
}

static void accept(struct take *t)
{
	struct fm_file *f = t->f;

	fm_file_size_now(f);
	atomic_store(&f->server, FM_SERVER_ENGINE);
	fm_served_file(f, FM_BY_ENGINE, t->why);
	for (unsigned k = 0; k < t->n; k++)
		fm_krange_forget(t->v[k].r.start, t->v[k].r.end);
	fm_file_passes(f, false);
	atomic_store(&f->serve->vetoes, 0);
	f->demote->adopted = false;
	atomic_fetch_add(&f->st->promoted, 1);
	atomic_store(&f->demote->stays_since_ms, 0);
	fm_peers_came_back(f);
	fm_file_put_locked(f); /* demote.c's: there is nothing to remember */
	fm_fault_around_weigh();
	fm_log(FM_LOG_INFO, "%s: promoted from the kernel: %s", f->path,
	       fm_server_reason_text(t->why));
}

static int promote_claim(struct take *t)
{
	int err = fm_peers_come_back(t->f, t->stores);

	if (!err)
		err = fm_backup_file(t->f);
	return err ? -EBUSY : 0;
}

static int promote_change(struct take *t)
{
	struct fm_file *f = t->f;
	int err = -EBUSY;

	t->step = "what it is used for";
	if (!fm_kernel_serves(f) || atomic_load(&f->maps) ||
	    !f->demote->passes || atomic_load(&fm_demote_ends) ||
	    fm_vetoes(f, FM_VETO_RINGS | FM_VETO_LIMITS, NULL))
		return err;
	t->step = "system calls that began before they were looked at";
	if (fm_vetoes(f, FM_VETO_INFLIGHT | FM_VETO_RECORDS, NULL))
		return err;
	t->step = "opening it";
	fm_heap_shared(f);
	err = fm_file_open_again(f, t->stores);
	if (err)
		return err;
	/* Before it is looked what the kernel has of it: see
	 * kernel_windows.c. */
	if (t->stores)
		atomic_store(&f->stores_wanted, true);
	t->step = "other processes";
	err = promote_claim(t);
	if (!err)
		err = still_there(t);
	if (!err)
		err = publish_all(t);
	if (!err)
		err = quiet(t);
	t->step = err ? t->step : "laying or writing it";
	if (!err)
		err = promote_keep_all(t);
	if (!err)
		err = promote_lay_all(t);
	if (!err)
		err = all_on_device(t);
	if (err)
		promote_give_up(t);
	else
		accept(t);
	fm_thaw(f);
	return err;
}

/* ---- callers ------------------------------------------------------------ */

static int promote_file(struct fm_file *f, enum fm_server_reason why, bool lock,
			const char **ret_step)
{
	struct take t = { .f = f, .why = why, .step = "its mappings" };
	int err = promote_prepare(&t);
	uint64_t old;

	if (!err) {
		if (lock)
			fm_space_lock(&old);
		fm_file_get(f);
		err = promote_change(&t);
		fm_file_put_locked(f);
		if (lock)
			fm_space_unlock(&old);
	}
	promote_finish(&t, err);
	if (err && ret_step)
		*ret_step = t.step;
	return err;
}

int fm_promote(struct fm_file *f, enum fm_server_reason why,
	       const char **ret_step)
{
	return promote_file(f, why, true, ret_step);
}

/* fm_server_change has the space lock. */
static int take_locked(struct fm_file *f, enum fm_server_reason why)
{
	return promote_file(f, why, false, NULL);
}

FM_UP(server_to_engine, take_locked)
