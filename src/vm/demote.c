/* SPDX-License-Identifier: MIT */
/*
 * demote.c - hand a file back to the kernel while threads go on using it.
 *
 *  1. freeze: faults on the file wait (fault/freeze.h), and what is in flight
 *     is waited for, without the space lock (demote_drain.c);
 *  2. pass through every touched page lock: nobody is inside any more;
 *  3. write back: every page ends clean and write-protected, so no store can
 *     happen that is not seen, and those who try wait in the fault path;
 *  4. lay the kernel's mapping over ours, in one step per mapping
 *     (demote_lay.c);
 *  5. forget the mappings and let the waiters run their access again.
 */
#include <string.h>
#include <time.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/epoch.h"
#include "base/go_binary.h"
#include "base/life.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/shrinker.h"
#include "cache/cache.h"
#include "demote_drain.h"
#include "demote_lay.h"
#include "demote_pagecache.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "writeback/writeback.h"

_Atomic bool fm_demote_ends;

/* ---- steps ------------------------------------------------------------- */

static void demote_pass_through(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	fm_page_lock_idle(p);
	fm_page_unlock(p);
}

void fm_pass_through(struct fm_map *m)
{
	fm_map_each(m, 0, fm_map_pages(m), demote_pass_through, NULL);
}

static int write_back_all(struct fm_file *f)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	int err = 0;

	if (fm_store_of(f)->direct && fm_store_of(f)->keeps)
		fm_demote_write_pagecache(f);
	do {
		err = fm_wb_range(f, 0, FM_MAX_FILE_PAGES, true);
		if (err && err != -EFAULT && atomic_load(&f->wb->buffered))
			return err;
		/* A device that does not write: the page cache takes it, as it
		 * would have without us, and its mapping shows it. */
		if (err && err != -EFAULT)
			fm_file_mixed(f);
		if (fm_dirty_next(f, 0, FM_MAX_FILE_PAGES) >=
		    FM_MAX_FILE_PAGES)
			return 0;
	} while (fm_wait_on(&w));
	return err ? err : -EBUSY;
}

static _Atomic unsigned demotions;

unsigned fm_demote_count(void)
{
	return atomic_load(&demotions);
}

/* Ours until all is laid: who unmaps or replaces a part meanwhile waits. */
static int lay_and_unlink(struct fm_file *f, struct fm_list *l)
{
	struct fm_pieces pieces;
	size_t n = 0;
	int err;

	fm_pieces_note(f, &pieces);
	err = fm_demote_lay_all(f, l, &n);
	fm_pieces_join(f, &pieces, !err);
	/* who reads it from now on asks the kernel */
	atomic_fetch_add(&demotions, 1);
	for (size_t k = 0; k < n; k++) {
		struct fm_map *m = l->v[k];

		fm_map_each(m, 0, fm_map_pages(m), fm_clear_modes, NULL);
		fm_space_set(atomic_load(&m->start), atomic_load(&m->end),
			     NULL);
		fm_map_unlink(m);
	}
	return err;
}

/* Said once: it may be tried for each page. */
void fm_say_not_demoted(struct fm_file *f, enum fm_server_reason why, int err)
{
	if (!atomic_exchange(&f->demote->stays_since_ms, fm_now_ms()))
		fm_log(FM_LOG_ERROR,
		       "%s: cannot hand the mapping to the kernel (%s), errno "
		       "%d: it stays with fastmap",
		       f->path, fm_server_reason_text(why), -err);
}

/* Let the page cache have what was resident. Not where the file is demoted
 * since memory is short, nor at the end. */
static void fill_pagecache(struct fm_file *f, struct fm_fetch *h, int err)
{
	if (err || !fm_store_of(f)->keeps || fm_mem_monitor_short() ||
	    atomic_load(&fm_demote_ends))
		fm_fetch_forget(h);
	else
		fm_resident_bring(h);
}

/* See mmap/promote_trap.h. */
static bool can_be_laid_over(void)
{
	return fm_delivery() == FM_DELIVERY_THREAD ? fm_uffd_caps()->remap :
						     fm_uffd_poisons();
}

/* What would forbid that it comes back. What is the program's own of a private
 * mapping would be lost. */
static uint32_t demote_vetoes(struct fm_file *f)
{
	return (fm_only_shared(f, 0) ? 0u : FM_VETO_PRIVATE) |
	       (can_be_laid_over() && !fm_go_binary() ? 0u : FM_VETO_MEANS);
}

bool fm_demote_may_return(struct fm_file *f, enum fm_server_reason why)
{
	return fm_server_reason_passes(why) && fm_settings()->promote_ms &&
	       !demote_vetoes(f);
}

static void note_resident(struct fm_file *f, const struct fm_demote_request *g,
			  struct fm_fetch *ret)
{
	if (fm_resident_all(g, fm_map_bytes(f), fm_mem_monitor_all()))
		fm_resident_note_all(f, ret);
	else
		fm_resident_note(f, ret);
}

/* Nobody is inside, and faults wait. */
static int demote_drained(struct fm_file *f,
			  const struct fm_demote_request *g)
{
	const enum fm_server_reason why = g->why;
	struct fm_fetch resident;
	const bool passes = fm_demote_may_return(f, why);
	const uint32_t vetoes = demote_vetoes(f) | fm_server_reason_veto(why);
	struct fm_list l;
	int err;

	err = fm_file_list(f, &l);
	if (err)
		return err;
	/* for as long as the process lives: it stays the kernel's */
	fm_file_get(f);
	fm_file_get(f); /* by the last of these it is hollow, see file.c */
	fm_freeze(f);
	for (size_t k = 0; k < l.n; k++) {
		fm_ahead_forget(l.v[k]);
		fm_pass_through(l.v[k]);
	}
	note_resident(f, g, &resident);
	err = write_back_all(f);
	/* first: no hook must miss that it has to look */
	fm_file_passes(f, passes);
	if (!err)
		err = lay_and_unlink(f, &l);
	if (err) {
		fm_file_passes(f, false);
		fm_say_not_demoted(f, why, err);
	} else {
		atomic_store(&f->st->demote_why, (uint8_t)why);
		atomic_store(&f->serve->vetoes, vetoes);
		atomic_fetch_add(&f->st->demotions, 1);
		atomic_store(&f->server, FM_SERVER_KERNEL);
		fm_heap_shared(f);
		fm_served_file(f, fm_served_beside_engine(f->policy), why);
		fm_errseq_note(f); /* who syncs it asks there from now on */
		atomic_store(&f->wb->err, 0);
		fm_server_reason_demoted(f->path, f->dev, f->ino, why);
	}
	fm_thaw(f);
	fill_pagecache(f, &resident, err);
	if (err)
		fm_file_put_locked(f);
	fm_file_put_locked(f);
	fm_free(l.v);
	return err;
}

static int demote_to_kernel(struct fm_file *f,
			    const struct fm_demote_request *g)
{
	int err;

	fm_file_get(f);
	err = fm_demote_drain(f, g->why);
	if (!err) {
		/* others had the space lock: unmapped, or handed over */
		if (atomic_load(&f->maps) && !fm_kernel_serves(f))
			err = demote_drained(f, g);
		fm_file_release(f);
	}
	fm_file_put_locked(f);
	return err;
}

static int to_engine(struct fm_file *f, const struct fm_demote_request *g)
{
	fm_up_server_to_engine *take = FM_UP_ONE(server_to_engine);

	return take ? take(f, g->why) : -EOPNOTSUPP;
}

/* What asks for less time, or memory, asks for nothing that has to be; and who
 * touches what cannot be read gets a signal all the same. */
static int cannot_leave(const struct fm_file *f, enum fm_server_reason why)
{
	const uint32_t may = FM_VETO_MEMORY | FM_VETO_MEANS;

	if (!(fm_server_reason_veto(why) & ~may) || why == FM_WHY_ENDS ||
	    why == FM_WHY_BEYOND || why == FM_WHY_UNREADABLE)
		return -EOPNOTSUPP;
	return fm_only_engine_refuse(f->path, f->io->backing->text, why);
}

static int demote_change(struct fm_file *f, enum fm_server to,
			 const struct fm_demote_request *g)
{
	static int (*const change[FM_SERVERS][FM_SERVERS])(
		struct fm_file * f, const struct fm_demote_request *g) = {
		[FM_SERVER_ENGINE][FM_SERVER_KERNEL] = demote_to_kernel,
		[FM_SERVER_KERNEL][FM_SERVER_ENGINE] = to_engine,
	};
	const enum fm_server from = fm_server_of(f);

	if (from == to || (to == FM_SERVER_KERNEL && !atomic_load(&f->maps)))
		return 0;
	if (to == FM_SERVER_KERNEL && fm_only_engine(f))
		return cannot_leave(f, g->why);
	/* The helper is a new process: to make one may be death, and the bytes
	 * are right without. */
	if (!(fm_server_reason_veto(g->why) & ~FM_VETO_MEMORY) &&
	    fm_sys_confined())
		return -EPERM;
	return change[from][to] ? change[from][to](f, g) : -EOPNOTSUPP;
}

int fm_server_change(struct fm_file *f, enum fm_server to,
		     enum fm_server_reason why)
{
	const struct fm_demote_request alone = { .why = why };

	return demote_change(f, to, &alone);
}

int fm_file_demote(struct fm_file *f, enum fm_server_reason why)
{
	FM_HOLD_SPACE();
	return fm_server_change(f, FM_SERVER_KERNEL, why);
}

unsigned fm_demote_now(const char *path)
{
	struct fm_file *f;
	unsigned n = 0;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id)
		if (atomic_load(&f->maps) && !fm_kernel_serves(f) &&
		    (!*path || !strcmp(path, f->path)))
			n += !fm_server_change(f, FM_SERVER_KERNEL,
					       FM_WHY_ASKED);
	return n;
}

/* ---- several files ------------------------------------------------------ */

static int demote_each_once(bool (*which)(struct fm_file *f, uint64_t arg),
			    uint64_t arg, const struct fm_demote_request *g)
{
	struct fm_file *f;
	int first = 0;

	fm_for_each_file(f, id) {
		bool yes = !which || which(f, arg);
		int err = yes ? demote_change(f, FM_SERVER_KERNEL, g) : 0;

		if (!first)
			first = err;
	}
	return first;
}

/* Bytes of the mappings of these files. */
static uint64_t bytes_where(bool (*which)(struct fm_file *f, uint64_t arg),
			    uint64_t arg)
{
	struct fm_file *f;
	uint64_t sum = 0;

	fm_for_each_file(f, id)
		if (!which || which(f, arg))
			sum += fm_map_bytes(f);
	return sum;
}

/* Who is called back with the space lock relies on all of them: what others
 * have mapped while one was waited for is looked at, too. */
int fm_demote_where(bool (*which)(struct fm_file *f, uint64_t arg),
		    uint64_t arg, enum fm_server_reason why)
{
	const struct fm_demote_request g = { why, bytes_where(which, arg) };
	unsigned before;
	int err;

	do {
		before = fm_space_yields();
		err = demote_each_once(which, arg, &g);
	} while (!err && before != fm_space_yields());
	return err;
}

bool fm_only_shared(struct fm_file *f, uint64_t arg)
{
	struct fm_map *m = atomic_load(&f->maps);

	for (; m && m->shared; m = atomic_load(&m->file_next))
		;
	return !m;
}

/* Mappings of the kernel can use all memory that is left, and give it back at
 * once. */
static void demote_shared(enum fm_server_reason why)
{
	static _Atomic uint64_t not_before;
	static bool told;

	if (fm_now_ms() < atomic_load(&not_before))
		return;
	atomic_store(&not_before, fm_now_ms() + FM_SECOND_MS);
	if (!told)
		fm_log(FM_LOG_NOTE, "memory is too short for a cache: mapped "
		       "files are handed to the kernel (raise the limit of "
		       "the control group)");
	told = true;
	FM_HOLD_SPACE();
	fm_demote_where(fm_only_shared, 0, why);
}

static bool others_see(struct fm_file *f, uint64_t arg)
{
	return fm_only_shared(f, arg) && !f->ephemeral;
}

/* No thread of the program is left. What is dirty of a file that has private
 * mappings, which would have to be copied, is written from here. */
static void demote_at_end(void)
{
	uint64_t old;

	fm_space_lock(&old);
	fm_demote_where(others_see, 0, FM_WHY_ENDS);
	fm_space_unlock(&old);
	fm_engine_flush_all();
}

/* ---- for threads that cannot do it (demote_queue.h) -------------------- */

static int demote_asked(struct fm_file *f, enum fm_server_reason why)
{
	return fm_server_change(f, FM_SERVER_KERNEL, why);
}

static void serve_queue(void)
{
	enum fm_server_reason shared = fm_demote_take_shared();

	if (shared == FM_WHY_ENDS) {
		demote_at_end();
	} else if (shared) {
		demote_shared(shared);
		fm_shrink_idle();
	}
	if (!fm_demote_take())
		return;
	FM_HOLD_SPACE();
	FM_IN_EPOCH(); /* a file may go while one is waited for */
	fm_demote_each(demote_asked);
}

FM_UP(demote_queue, serve_queue)
