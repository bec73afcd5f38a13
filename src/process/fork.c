/* SPDX-License-Identifier: MIT */
/*
 * fork.c - what a child of fork finds.
 *
 * Our memory is MADV_DONTFORK: the child has holes where the mappings were. It
 * fills them with mappings of an empty file, where every touch is a SIGBUS and
 * comes to fm_fault like any other. The first one claims the file for the
 * kernel (peers.h), which makes the parent write it back and demote it, and
 * then lays the kernel's mappings. A child that only executes something costs
 * the parent nothing but the fork, unless what it executes inherits a
 * descriptor of the file (peers_inherit.c).
 *
 * Private mappings with pages that the program has stored to are not hidden
 * from fork: their pages are the only copy. The child lays the kernel's
 * private mapping with these pages on top, at once.
 *
 * Without a registry of processes the parent could not be asked later; then
 * files that either could store to are demoted before the fork.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/fds.h"
#include "base/life.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "fork_bring.h"
#include "io/io.h"
#include "map/map.h"
#include "mmap/mmap.h"
#include "peers/peers.h"
#include "readahead/readahead.h"
#include "serve/serve.h"
#include "tunables.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

static uint64_t saved_mask;

/* The child's files with empty mappings; a slot becomes NULL when done. */
static struct fm_file *lazy[FM_MAX_FILES];
static uint32_t nlazy;
/* Its mappings have gone untouched. The program may still have its
 * descriptors. */
enum gone { GONE_NOT, GONE_READ, GONE_STORES };
static uint8_t gone[FM_MAX_FILES];

static void note_own(struct fm_map *m, uint64_t i, void *arg)
{
	if (fm_mode(m, i) & PM_COW)
		*(bool *)arg = true;
}

static bool fork_has_own(struct fm_map *m)
{
	bool own = false;

	if (!m->shared && atomic_load(&m->modes->own))
		fm_map_each(m, 0, fm_map_pages(m), note_own, &own);
	return own;
}

static void each_map(void (*fn)(struct fm_map *m))
{
	struct fm_file *f;
	struct fm_map *m;

	fm_for_each_file(f, id)
		fm_for_each_map(m, f)
			fn(m);
}

/* ---- parent ------------------------------------------------------------ */

static int fork_advise(struct fm_map *m, int advice)
{
	uintptr_t a = atomic_load(&m->start);

	return fm_sys_madvise((void *)a, atomic_load(&m->end) - a, advice);
}

/* Memory, and room for one more mapping of the kernel's, may come. */
static int show_own(struct fm_file *f)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	struct fm_map *m = atomic_load(&f->maps);
	int err = 0;

	for (; m && !err; m = atomic_load(&m->file_next)) {
		if (!fork_has_own(m))
			continue;
		do
			err = fork_advise(m, MADV_DOFORK);
		while (err && fm_wait_on(&w));
	}
	return err;
}

static void hide_own(struct fm_map *m)
{
	if (!m->shared)
		fork_advise(m, MADV_DONTFORK);
}

/* From here to the fork no page becomes the program's own: the child would have
 * neither the page nor, in the file, what was stored to it. Who reads one is
 * not waited for: he looks before he makes it that (make_own). */
static void hold_private(struct fm_file *f)
{
	if (fm_only_shared(f, 0))
		return;
	fm_freeze(f);
	fm_freeze_settle(f);
}

static void release_private(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (atomic_load(&f->demote->frozen))
			fm_thaw(f);
}

static _Atomic bool opens_less;

void fm_fork_opens_less(void)
{
	atomic_store(&opens_less, true);
}

/* Could a child open it? Its mode, our user or our root may be another since it
 * was mapped. A sandbox may refuse the question, whatever it is about. */
static bool can_open(struct fm_file *f, bool writable)
{
	char path[FM_PROC_FD];
	long err;

	if (fm_sys_confined() || atomic_load(&opens_less))
		return false;
	err = fm_sys4(SYS_faccessat2, AT_FDCWD, fm_recovered_path(f, path),
		      writable ? R_OK | W_OK : R_OK, AT_EACCESS);
	return !err || fm_sys4(SYS_faccessat2, AT_FDCWD, "/", F_OK, 0) == err;
}

/* The clean pages of a private mapping come from the file: it has to be true
 * now. And where the parent cannot be asked later, or the child could not open
 * it, it gives up now. */
static void fork_before(struct fm_file *f, bool asks)
{
	struct fm_map *m;
	bool writable = fm_may_be_stored_to(f), own = false;

	hold_private(f);
	for (m = atomic_load(&f->maps); m && !own;
	     m = atomic_load(&m->file_next))
		own = fork_has_own(m);
	if (fm_only_engine(f)) {
		if (own)
			show_own(f);
		return;
	}
	if (((writable && (own || !asks || !fm_peers_can_ask(f))) ||
	     (atomic_load(&f->maps) && !can_open(f, writable) &&
	      fm_ring_may_dup())) &&
	    fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_FORK))
		hold_private(f); /* it failed, and let go */
	/* The kernel takes along what is its own. */
	if (own && show_own(f) &&
	    fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_FORK))
		hold_private(f);
}

/* Once more, if others had the space lock while a file was handed over: they
 * may have mapped what has been passed, or forked, and let go what was held. */
static void fork_before_all(void)
{
	struct fm_file *f;
	unsigned before;
	bool asks;

	do {
		asks = !atomic_load(&fm_live_maps) ||
		       fm_peers_children_can_ask();
		before = fm_space_yields();
		release_private();
		fm_for_each_file(f, id) {
			if (f->ephemeral)
				continue;
			fm_file_get(f);
			fork_before(f, asks);
			fm_file_put_locked(f);
		}
	} while (before != fm_space_yields());
}

/* Written as a demotion does, so that no store is under way, nor can be. */
static bool hold_heap(struct fm_file *f)
{
	struct fm_map *m;

	fm_freeze(f);
	fm_for_each_map(m, f)
		fm_pass_through(m);
	return !fm_wb_range(f, 0, FM_MAX_FILE_PAGES, true) &&
	       fm_dirty_next(f, 0, FM_MAX_FILE_PAGES) >= FM_MAX_FILE_PAGES;
}

/* Also when nothing is mapped: the child must not inherit a lock that another
 * thread holds, nor an engine whose threads are the parent's and whose rings
 * are shared with it. */
void fm_fork_prepare(void)
{
	struct fm_file *f;
	bool held = false;
	uint64_t old;

	fm_space_lock(&old); /* another thread may be in its fork until then */
	fm_server_reason_share();
	fork_before_all();
	saved_mask = old;
	fm_for_each_file(f, id)
		if (f->ephemeral && atomic_load(&f->maps) &&
		    !fm_kernel_serves(f))
			held = hold_heap(f);
	fm_heap_copy(held);
	fm_alloc_lock();
}

void fm_fork_parent(void)
{
	uint64_t old = saved_mask;

	fm_alloc_unlock();
	each_map(hide_own);
	release_private();
	fm_space_unlock(&old);
}

/* ---- child: the kernel's mappings -------------------------------------- */

static void fork_forget(struct fm_map *m)
{
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), NULL);
	fm_map_unlink(m);
}

static int fork_lay(struct fm_file *f)
{
	struct fm_map *m = atomic_load(&f->maps), *next;
	struct fm_pieces pieces;
	size_t n = 0;
	int err = 0;

	fm_pieces_note(f, &pieces);
	for (; m && !err; m = atomic_load(&m->file_next)) {
		err = fm_demote_lay(f, m);
		n += !err;
	}
	fm_pieces_join(f, &pieces, !err);
	for (m = atomic_load(&f->maps); n; m = next, n--) {
		next = atomic_load(&m->file_next);
		fork_forget(m);
	}
	return err;
}

/* Not a hole: its pages came along, for some are the program's own. */
static bool came_along(struct fm_map *m)
{
	unsigned char vec;

	return fm_sys3(SYS_mincore, atomic_load(&m->start), FM_PAGE, &vec) !=
	       -ENOMEM;
}

/* What could not be laid: pages that came along stay, everything else is to
 * raise a signal. It must not be zeros, and none of ours. */
struct rest {
	struct fm_map *m;
	uint64_t at;
	int empty;
};

static void fork_cover(const struct rest *r, uint64_t end)
{
	char *a = fm_map_addr(r->m, r->at);
	size_t len = (end - r->at) << FM_PAGE_SHIFT;
	void *p = (void *)(intptr_t)-ENOMEM;

	if (!len)
		return;
	if (r->empty >= 0)
		p = fm_sys_mmap(a, len, atomic_load(&r->m->prot),
				MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
				r->empty, 0);
	if (fm_is_err(p) && fm_sys_munmap(a, len))
		fm_sys_mprotect(a, len, PROT_NONE);
}

static void cover_to(struct fm_map *m, uint64_t i, void *arg)
{
	struct rest *r = arg;

	if (!(fm_mode(m, i) & PM_COW))
		return;
	fork_cover(r, i);
	r->at = i + 1;
}

static void cover_rest(struct fm_file *f, int empty)
{
	struct fm_map *m;

	fm_for_each_map(m, f) {
		struct rest r = { m, 0, empty };

		if (!m->shared && came_along(m))
			fm_map_each(m, 0, fm_map_pages(m), cover_to, &r);
		fork_cover(&r, fm_map_pages(m));
	}
}

static void fork_forget_all(struct fm_file *f)
{
	struct fm_map *m, *next;

	for (m = atomic_load(&f->maps); m; m = next) {
		next = atomic_load(&m->file_next);
		fork_forget(m);
	}
}

/* No fault on it is ours any more. */
static void give_up_file(struct fm_file *f, int err)
{
	fork_forget_all(f);
	fm_log(FM_LOG_ERROR,
	       "%s: cannot be mapped in this child of fork, errno "
	       "%d: SIGBUS where it is touched",
	       f->path, -err);
}

/* From now on the kernel serves the file in this process, whatever the policy
 * says: mappings are there that the engine does not know. */
static void fork_leave_to_kernel(struct fm_file *f)
{
	if (!fm_only_engine(f))
		fm_serve_kernel(f->dev, f->ino);
}

/* Of those in lazy, once, whoever serves one may go on if it only reads. */
static struct fm_file *read_only[FM_MAX_FILES];

static bool stores_to(uint32_t k)
{
	return gone[k] ? gone[k] == GONE_STORES : fm_may_be_stored_to(lazy[k]);
}

static int fork_join(uint32_t k)
{
	bool stores = stores_to(k);

	if (!stores)
		read_only[k] = lazy[k];
	return fm_peers_join(lazy[k], stores);
}

static void mapped_for_stores(dev_t dev, ino_t ino)
{
	for (uint32_t k = 0; k < nlazy; k++) {
		struct fm_file *f = read_only[k];

		if (!f || f->dev != dev || f->ino != ino)
			continue;
		read_only[k] = NULL;
		fm_peers_join(f, true);
	}
}

static void path_done(struct fm_file *f)
{
	fm_fd_drop(f->io->path);
	f->io->path = -1;
}

static int engine_maps(struct fm_file *f, const struct fm_kmap *k, size_t n)
{
	char path[FM_PROC_FD];
	int fd = fm_sys_open(fm_recovered_path(f, path), O_RDONLY, 0);
	int err = fd < 0 ? fd : 0;

	for (size_t i = 0; i < n && !err; i++)
		err = fm_mmap_anew(fd, &k[i]);
	if (fd >= 0)
		fm_sys_close(fd);
	return err;
}

/* The kernel has nothing to lay: an engine of the child's own serves it. */
static void engine_anew_for(uint32_t k)
{
	struct fm_file *f = lazy[k];
	struct fm_kmap *maps;
	struct fm_list l;
	int err = fm_file_list(f, &l);

	lazy[k] = NULL; /* mapping it asks for what is in lazy[] */
	maps = err ? NULL : fm_alloc((l.n + !l.n) * sizeof(*maps));
	for (size_t i = 0; maps && i < l.n; i++)
		maps[i] = fm_kmap_of(l.v[i]);
	if (maps && !gone[k]) {
		fork_forget_all(f);
		err = engine_maps(f, maps, l.n);
	}
	if (!maps || err)
		give_up_file(f, maps ? err : -ENOMEM);
	fm_free(maps);
	fm_free(l.v); /* NULL where there is no list */
	if (gone[k])
		atomic_fetch_sub(&fm_live_maps, 1);
	gone[k] = GONE_NOT;
	path_done(f);
}

static void restore(uint32_t k)
{
	struct fm_file *f = lazy[k];
	struct fm_fetch resident;
	int err;

	if (fm_only_engine(f)) {
		engine_anew_for(k);
		return;
	}
	err = fork_join(k);
	fm_resident_note(f, &resident); /* as it was when we were forked */
	err = err ? err : fork_lay(f);
	if (err)
		give_up_file(f, err);
	/* A parent that goes on serving the file brings nothing into the page
	 * cache; one that demotes it does. */
	if (err || !read_only[k])
		fm_fetch_forget(&resident);
	else
		fm_fork_bring(&resident);
	if (gone[k])
		atomic_fetch_sub(&fm_live_maps, 1);
	gone[k] = GONE_NOT;
	lazy[k] = NULL;
	path_done(f);
}

static void stop_if_done(void)
{
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k])
			return;
	atomic_store(&fm_placeholders, FM_PLACEHOLDERS_FILLED);
}

static bool fork_covers(struct fm_file *f, uintptr_t a, uintptr_t end)
{
	struct fm_map *m;

	fm_for_each_map(m, f)
		if (atomic_load(&m->start) < end && a < atomic_load(&m->end))
			return true;
	return false;
}

static bool fork_touch(uintptr_t a, size_t len)
{
	bool locked = fm_space_locked(), hit = false;
	uint64_t old;

	if (!locked)
		fm_space_lock(&old);
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k] && fork_covers(lazy[k], a, a + len)) {
			restore(k);
			hit = true;
		}
	stop_if_done();
	if (!locked)
		fm_space_unlock(&old);
	return hit;
}

static bool within(struct fm_file *f, uintptr_t a, uintptr_t end)
{
	struct fm_map *m;

	fm_for_each_map(m, f)
		if (atomic_load(&m->start) < a || atomic_load(&m->end) > end)
			return false;
	return true;
}

/*
 * Nothing is put in place for that: the file would be opened, which breaks a
 * lease that another process has by now. Who serves it is asked when a system
 * call of ours touches it; the hooks look as long as something counts as
 * mapped.
 */
static void leaves(uint32_t k)
{
	gone[k] = stores_to(k) ? GONE_STORES : GONE_READ;
	atomic_fetch_add(&fm_live_maps, 1);
	fork_forget_all(lazy[k]);
}

void fm_fork_unmaps(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;
	uintptr_t end = fm_page_up(a + len);
	bool locked;
	uint64_t old;

	if (!fm_placeholders_left() || (a & FM_PAGE_MASK) ||
	    !fm_space_near(a, end))
		return;
	locked = fm_space_locked();
	if (!locked)
		fm_space_lock(&old);
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k] && !gone[k] && within(lazy[k], a, end))
			leaves(k);
	if (!locked)
		fm_space_unlock(&old);
}

void fm_fork_fill(void)
{
	if (fm_placeholders_left())
		fork_touch(0, UINTPTR_MAX);
}

static void touch_file(dev_t dev, ino_t ino)
{
	bool locked = fm_space_locked();
	uint64_t old;

	if (!locked)
		fm_space_lock(&old);
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k] && lazy[k]->dev == dev && lazy[k]->ino == ino)
			restore(k);
	stop_if_done();
	if (!locked)
		fm_space_unlock(&old);
}

/* Our own child of vfork has another table of descriptors: what is put in place
 * is put in place by us, later. The claim is ours at once, the registry's open
 * file being one. */
static void claim_file(dev_t dev, ino_t ino)
{
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k] && lazy[k]->dev == dev && lazy[k]->ino == ino)
			fm_peers_join(lazy[k], true);
}

static void inherits(dev_t dev, ino_t ino, bool stores, bool vforked)
{
	bool matters = stores;

	FM_HOLD_SPACE();
	for (uint32_t k = 0; k < nlazy && !matters; k++)
		matters = lazy[k] && lazy[k]->dev == dev &&
			  lazy[k]->ino == ino && stores_to(k);
	if (matters && vforked)
		claim_file(dev, ino);
	else if (matters)
		touch_file(dev, ino);
	if (stores)
		mapped_for_stores(dev, ino);
}

FM_UP(fork_touch, fork_touch)
FM_UP(fork_touch_file, touch_file)
FM_UP(fork_stores, mapped_for_stores)
FM_UP(fork_inherits, inherits)

/* ---- child: start ------------------------------------------------------ */

/* An empty file behind the mapping: every touch is a SIGBUS. */
static int placeholder(struct fm_map *m, int empty)
{
	uintptr_t a = atomic_load(&m->start);
	void *p = fm_sys_mmap((void *)a, atomic_load(&m->end) - a,
			      atomic_load(&m->prot),
			      MAP_SHARED | MAP_FIXED | MAP_NORESERVE, empty,
			      0);

	return fm_is_err(p) ? (int)(intptr_t)p : 0;
}

/* Private mappings with pages of their own at once, the others when touched.
 * Returns whether something is left for later. */
static bool fork_begin_file(struct fm_file *f, int empty)
{
	struct fm_map *m, *next;
	int err = nlazy == FM_MAX_FILES ? -ENOSPC : 0;
	bool lost = false;

	for (m = atomic_load(&f->maps); m && !err; m = next) {
		next = atomic_load(&m->file_next);
		if (came_along(m)) {
			err = fm_demote_lay(f, m);
			if (!err)
				fork_forget(m);
		} else if ((lost = fork_has_own(
				    m))) { /* the file has older bytes */
			err = -ENOMEM;
		} else {
			err = empty < 0 ? empty : placeholder(m, empty);
		}
	}
	if (err) { /* no empty file, or no room: all of it now */
		int joined = fm_only_engine(f) ? 0 :
			fm_peers_join(f, fm_may_be_stored_to(f));

		err = lost ? err : joined ? joined : fork_lay(f);
		if (err) {
			cover_rest(f, empty);
			give_up_file(f, err);
		}
	}
	return atomic_load(&f->maps) != NULL;
}

/* Does a touch come to us? Where threads served the faults nobody may have
 * taken SIGBUS, for one of the parent's threads had it blocked. */
static bool hears(void)
{
	fm_up_shim_take_signals *take = FM_UP_ONE(shim_take_signals);

	if (fm_delivery() != FM_DELIVERY_THREAD)
		return true;
	return !(saved_mask >> (SIGBUS - 1) & 1) && take && !take();
}

/* The engine's tables begin anew; what waits is kept here. */
static void fork_begin(void)
{
	struct fm_file *f;
	int empty = -1;

	if (fm_active() && hears())
		empty = (int)fm_sys2(SYS_memfd_create, "fastmap",
				     1 /* CLOEXEC */);
	fm_for_each_file(f, id) {
		fm_shares_forked(f);
		if (f->ephemeral) {
			fm_file_get(f); /* as below; the heap lays its own */
			fork_forget_all(f);
			continue;
		}
		fork_leave_to_kernel(f);
		fm_file_get(f); /* for good: its slot is not its own any more */
		if (atomic_load(&f->maps) && fork_begin_file(f, empty))
			lazy[nlazy++] = f;
	}
	if (empty >= 0)
		fm_sys_close(empty);
}

static void engine_anew(void)
{
	static int paths[FM_MAX_FILES];

	for (uint32_t k = 0; k < nlazy; k++) {
		if (!lazy[k])
			continue;
		paths[k] = lazy[k]->io->path;
		lazy[k]->io->path = -1; /* or the reset closes it */
	}
	fm_life_forked();
	for (uint32_t k = 0; k < nlazy; k++)
		if (lazy[k])
			lazy[k]->io->path = paths[k];
}

void fm_fork_child(void)
{
	fm_helper_fork_begins();
	fm_alloc_unlock();
	fm_streams_forked();
	/* Whatever went through the parent's would change the parent's memory,
	 * and its claims are not ours. */
	fm_fd_drop(fm_uffd_fd());
	fm_uffd_set_fd(-1);
	fm_peers_reset();
	release_private();
	fm_ring_dup_not_mine();
	fork_begin();
	engine_anew();
	if (nlazy) {
		atomic_store(&fm_placeholders, FM_PLACEHOLDERS_LEFT);
		stop_if_done();
	}
	fm_helper_fork_ends();
	fm_space_unlock(&saved_mask);
}
