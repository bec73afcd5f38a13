/* SPDX-License-Identifier: MIT */
/*
 * mmap.c - mmap: taking over the mappings that server_choice.h says are ours.
 *
 * The kernel makes the mapping first, so that arguments, permissions, limits
 * and the choice of address are its own; then anonymous memory registered
 * with userfaultfd takes its place. If anything fails after that, the
 * kernel's mapping is put back.
 */
#include <stdio.h>

#include "advise/advise.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/tables.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "kernel_windows.h"
#include "mmap_anew.h"
#include "map/map.h"
#include "peers/peers.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "seen_fd.h"
#include "serve/serve.h"
#include "server_choice.h"
#include "short_maps.h"
#include "unserved.h"
#include "tunables.h"
#include "vm/vm.h"
#include "warm/warm.h"

/* ---- taking over ------------------------------------------------------- */

#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static int lay_anonymous(struct fm_mmap_request *q, char *at, int prot)
{
	uintptr_t a = (uintptr_t)at, end = a + fm_page_up(q->len);

	q->replaced = true;
	if (q->laid)
		return fm_uffd_lay(at, end - a);
	return q->over.n ? fm_fixed_replace_lay(&q->over, a, end, prot) :
			   fm_fixed_replace_lay_new(a, end, prot);
}

/* Over memory of ours a fault may come as soon as the mapping is known. It
 * waits for what the kernel's mapping holds up elsewhere: until no write is in
 * flight that did not know of the file, and all that can go wrong has not. */
static bool hold_up(const struct fm_mmap_request *q, struct fm_file *f)
{
	bool hold = q->over.n && !atomic_load(&f->nmaps);

	if (hold)
		fm_freeze(f);
	return hold;
}

static struct fm_map *map_of(const struct fm_mmap_request *q, struct fm_file *f,
			     char *at)
{
	uint64_t pgoff = (uint64_t)q->off >> FM_PAGE_SHIFT;
	struct fm_map *m = fm_map_new(f, (uintptr_t)at, fm_page_up(q->len),
				      pgoff);

	if (!m)
		return NULL;
	fm_file_get(f);
	atomic_store(&m->prot, q->prot);
	m->shared = q->shared;
	m->maywrite = q->maywrite;
	m->noreserve = q->flags & MAP_NORESERVE;
	m->fd = q->fd;
	return m;
}

/* From here on others know of it. -errno: it is to be forgotten. */
static int mmap_show(struct fm_mmap_request *q, struct fm_map *m, char *at,
		     int prot)
{
	bool first;
	int err;

	fm_map_note_aliases(m);
	err = fm_map_publish(m);
	first = atomic_load(&m->file->nmaps) == 1;
	if (!err && first && !fm_writes_wait(&q->st))
		err = -EBUSY;
	if (!err && !q->cut && !q->over.n)
		err = lay_anonymous(q, at, prot);
	/* Again: since the file is published no thread maps it without the
	 * lock any more (fm_mmap_window). */
	if (!err && first && fm_kernel_mapped_has(&q->st))
		err = -EBUSY;
	if (!err && !q->over.n && fm_unmap_cache_take(m, prot)) {
		q->laid = false;
		err = lay_anonymous(q, at, prot);
	}
	if (!err && first)
		fm_fault_around_weigh();
	return err;
}

static int mmap_adopt(struct fm_mmap_request *q, struct fm_file *f, char *at)
{
	const size_t len = fm_page_up(q->len);
	struct fm_map *m;
	bool held;
	const int prot = fm_uffd_vma_prot(q->prot, q->len);
	int err = fm_file_grow_leaves(f, (uint64_t)q->off >> FM_PAGE_SHIFT,
				      len >> FM_PAGE_SHIFT);

	if (err)
		return err;
	m = map_of(q, f, at);
	if (!m)
		return -ENOMEM;
	atomic_store(&m->vma_prot, prot == q->prot);
	/* Emptied before it is known: what the new mapping serves must stay.
	 * Who finds nothing waits (fm_space_hiding). */
	if (q->over.n && (err = lay_anonymous(q, at, prot))) {
		fm_map_discard(m);
		return err;
	}
	held = hold_up(q, f);
	err = mmap_show(q, m, at, prot);
	if (err) {
		fm_space_set((uintptr_t)at, (uintptr_t)at + len, NULL);
		fm_map_unlink(m);
	} else {
		fm_krange_forget((uintptr_t)at, (uintptr_t)at + len);
		fm_window_note(f, len);
	}
	if (held)
		fm_thaw(f);
	return err;
}

/* The kernel's mapping, unless it is there still: where the program has as many
 * mappings as it may have, laying it once more would fail. */
static int mmap_put_back(const struct fm_mmap_request *q, void *at)
{
	void *p;

	if (!q->replaced)
		return 0;
	p = fm_sys_mmap(at, q->len, q->prot,
			(q->flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED, q->fd,
			q->off);
	return fm_is_err(p) ? (int)(intptr_t)p : 0;
}

static const char *open_remedy(int err)
{
	if (err == -EMFILE)
		return " (raise ulimit -n)";
	if (err == -ENOMEM)
		return " (raise ulimit -v or -d)";
	/* This is how io_uring says that it may not start a worker. */
	return err == -ECANCELED ? " (raise ulimit -u)" : "";
}

/* Locked memory cannot be ours. What this thread opens would be in a table of
 * its own, which it may have got while we waited for the lock. */
static int need_engine(void)
{
	int err = fm_memory_locked() ? -ENOTSUP : fm_life_need();

	return !err && fm_sys_may_ask() && fm_table_is_other() ? -ENOTSUP : err;
}

/* What the kernel does not have no other process can have by it. */
static enum fm_server_reason mmap_claim(struct fm_mmap_request *q,
					struct fm_file *f, const char *at)
{
	const struct fm_peers_wish w = {
		.writable = q->shared && q->maywrite,
		.fd = q->fd,
		.start = (uintptr_t)at,
		.end = (uintptr_t)at + fm_page_up(q->len),
	};
	const enum fm_peers_answer a = q->source ? FM_PEERS_OURS :
						   fm_peers_enter(f, &w);

	if (a == FM_PEERS_SLOW)
		fm_mmap_slow(q, f);
	return a == FM_PEERS_OURS ? FM_WHY_NONE :
	       a == FM_PEERS_UNTRUSTED ? FM_WHY_REGISTRY :
	       a == FM_PEERS_UNSEEN ? FM_WHY_UNSEEN : FM_WHY_SHARED;
}

static enum fm_server_reason open_it(struct fm_mmap_request *q,
				     struct fm_file *known,
				     struct fm_file **ret)
{
	const bool write = q->shared && q->maywrite;
	int err;

	if (!known && !fm_mmap_path(q))
		return FM_WHY_NO_OPEN;
	err = fm_file_open(q->fd, &q->st, known ? known->path : q->path,
			   q->policy, write, ret);
	if (err) {
		fm_log(FM_LOG_NOTE, "%s: left to the kernel: cannot open for "
		       "the engine, errno %d: %s%s", q->path, -err,
		       fm_error_text(-err), open_remedy(err));
		return FM_WHY_NO_OPEN;
	}
	if (!known)
		fm_shares_apply(*ret, q->policy);
	if (write)
		fm_shared_look(*ret, q->fd);
	return FM_WHY_NONE;
}

/* Without our descriptors missing pages are zeros when the program has closed
 * them by a raw system call: files that are only read, too. */
static enum fm_server_reason mmap_lay(struct fm_mmap_request *q,
				      struct fm_file *f, char *at)
{
	fm_backup_file(f);
	if (!mmap_adopt(q, f, at))
		return FM_WHY_NONE;
	return fm_memory_look() ? FM_WHY_LOCKED : FM_WHY_NO_MEMORY;
}

/* Everything between the kernel's mapping and ours. Or why not: leave it. */
static enum fm_server_reason take_to_engine(struct fm_mmap_request *q,
					    struct fm_file *known, char *at)
{
	const bool write = q->shared && q->maywrite;
	struct fm_file *f = NULL;
	enum fm_server_reason why;

	if (!q->cut && !q->laid && need_engine())
		return FM_WHY_NO_ENGINE;
	if ((!known || (write && !known->io->writable)) && !fm_rings_uring() &&
	    fm_posix_locks_held(q->st.st_ino))
		return FM_WHY_RECORD_LOCKS;
	why = open_it(q, known, &f);
	if (why)
		return why;
	why = mmap_claim(q, f, at);
	if (!why)
		why = mmap_lay(q, f, at);
	fm_file_put_locked(f);
	return why;
}

/* What it costs to map a file again and again (serve/maps.h). */
static void mmap_note_map(const struct fm_mmap_request *q, bool refused,
			  uint64_t from_ns)
{
	struct fm_maps *m = fm_serve_maps(q->st.st_dev, q->st.st_ino, true);
	const uint64_t now = fm_now_ns();

	if (m)
		(refused ? fm_maps_refused : fm_maps_begin)(
			m, q->len, now - from_ns, now);
}

/* The kernel reads ahead for each page that the engine has read, unless it has
 * been told not to, or has the page already. */
static uint64_t mmap_saved_ns(const struct fm_file *f,
			      const struct fm_maps_use *use)
{
	const uint64_t pages = atomic_load(&f->said_random) ? 1 :
		fm_readahead_bytes(f->dev) >> FM_PAGE_SHIFT;
	const uint64_t fresh =
		use->spent_ns - fm_least(use->spent_ns, use->again_ns);
	const uint64_t loads = (uint64_t)((double)atomic_load(&f->st->loads) *
					  (double)fresh /
					  (double)(use->spent_ns + 1));
	const uint64_t kernels = loads * fm_device_ns(f, pages);

	return kernels > fresh ? kernels - fresh : 0;
}

static void maps_end(struct fm_file *f)
{
	struct fm_maps *m = fm_serve_maps(f->dev, f->ino, false);
	struct fm_maps_use use = {
		.again_ns = atomic_load(&f->st->unmapped_ns),
		.spent_ns = atomic_load(&f->st->spent_ns),
		.read = atomic_load(&f->st->load_bytes),
	};

	if (!m)
		return;
	if (!fm_maps_is_window(m->len))
		use.saved_ns = mmap_saved_ns(f, &use);
	fm_maps_end(m, fm_serve_alike(f->dev, m->len, true), &use, fm_now_ns());
}

FM_UP(file_closing, maps_end)

static int take_timed(struct fm_mmap_request *q, struct fm_file *known,
		      char *at)
{
	const uint64_t from = fm_now_ns();

	q->left = take_to_engine(q, known, at);
	if (!known)
		mmap_note_map(q, q->left, from);
	return q->left ? -EBUSY : 0;
}

/* Now that the lock is held: another thread may have mapped it first. */
static struct fm_file *mmap_look_again(struct fm_mmap_request *q)
{
	struct fm_file *f = q->policy ?
		fm_file_find_fd(&q->st, q->fd, true) : NULL;

	if (f)
		q->policy = f->policy;
	return f;
}

/* The kernel will serve this mapping of a file: if we hold the file too, the
 * two would disagree. -errno: it must not stay. */
static int mmap_leave_known(struct fm_mmap_request *q, struct fm_file *known)
{
	int err = 0;

	if (known && q->left == FM_WHY_WINDOW) {
		q->count = fm_kernel_windows_note(known);
		return 0;
	}
	if (fm_is_served(known) && !fm_kernel_serves(known))
		err = fm_server_change(known, FM_SERVER_KERNEL,
				       FM_WHY_KERNEL_MAPS);
	if (!fm_is_served(known) && fm_settings()->mode == FM_MODE_ON) {
		fm_serve_kernel(q->st.st_dev, q->st.st_ino);
		if (atomic_load(&fm_placeholders) && q->shared && q->maywrite)
			FM_UP_EACH(fork_stores, tell)
				tell(q->st.st_dev, q->st.st_ino);
	}
	return err;
}

/* Another thread may have got it while the lock was let go. */
static int mmap_leave_to_kernel(struct fm_mmap_request *q,
				struct fm_file *known)
{
	struct fm_file *f = known ? NULL : mmap_look_again(q);
	int err = mmap_leave_known(q, known ? known : f);

	if (f)
		fm_file_put_locked(f);
	return err;
}

/* No mapping at all rather than one that shows something else. */
static void *unmap_and_fail(const struct fm_mmap_request *q, void *p)
{
	fm_sys_munmap(p, q->len);
	return (void *)(intptr_t)-ENOMEM;
}

static bool mmap_is_mapped(const void *p)
{
	return !fm_is_err(p);
}

static void *map_kernel(const struct fm_mmap_request *q)
{
	if (!(q->flags & MAP_FIXED))
		return fm_sys_mmap(q->addr, q->len, q->prot, q->flags, q->fd,
				   q->off);
	return FM_TAKES_RANGE(q->addr, q->len, mmap_is_mapped,
			      fm_sys_mmap(q->addr, q->len, q->prot, q->flags,
					  q->fd, q->off));
}

/* MAP_FIXED replaces what is there; find out first that it will succeed, for
 * what is flushed and forgotten does not come back. */
static int clear_target(struct fm_mmap_request *q)
{
	uintptr_t a = (uintptr_t)q->addr;
	int err, flags = q->flags & ~(MAP_FIXED | MAP_FIXED_NOREPLACE |
				 MAP_POPULATE);
	void *far, *p;

	if (!(q->flags & MAP_FIXED) || !fm_overlaps(q->addr, q->len))
		return 0;
	if ((q->flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE)
		return 0; /* the kernel sees the anonymous memory: EEXIST */
	if (a & FM_PAGE_MASK)
		return -EINVAL;
	/* Tried far away: where the kernel would put it, another thread might
	 * map something before it is unmapped again. */
	far = fm_sys_far(q->len, PROT_NONE);
	if (fm_is_err(far))
		return (int)(intptr_t)far;
	p = fm_sys_mmap(far, q->len, q->prot, flags | MAP_FIXED, q->fd,
			q->off);
	fm_sys_munmap(far, q->len);
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	err = fm_fixed_replace_note(a, fm_page_up(a + q->len), &q->over);
	q->replaced = q->over.n;
	return err ? err : fm_range_release(a, fm_page_up(a + q->len));
}

/* ---- bytes that the kernel does not have -------------------------------- */

/* Before anything is locked: a source may be slow to answer. 0 or -errno. */
static int source_ready(struct fm_mmap_request *q)
{
	int err;

	if (!q->source)
		return 0;
	if (q->shared && (q->prot & PROT_WRITE))
		return -EACCES; /* as on a read-only file system */
	fm_backing_of(q->source, q->path, &err);
	return err;
}

static void *source_refuse(const struct fm_mmap_request *q)
{
	return (void *)(intptr_t)fm_only_engine_refuse(q->path, q->source,
						       q->left);
}

/* What has been mapped by then would show an empty file. */
static void *source_unmap(const struct fm_mmap_request *q, void *p)
{
	fm_sys_munmap(p, q->len);
	return source_refuse(q);
}

/* ---- small windows ----------------------------------------------------- */

/*
 * Programs that map a file piece by piece do it often. When the kernel has
 * accepted such a mapping of this file before, and the descriptor allows it,
 * it will again: the anonymous memory is laid down at once, at an address
 * that nobody knows yet, in half as many system calls.
 */
static uint8_t kind_bit(const struct fm_mmap_request *q)
{
	return (uint8_t)(1u << (q->shared * 2 + !!(q->prot & PROT_WRITE)));
}

static bool is_simple(const struct fm_mmap_request *q)
{
	int type = q->flags & ~(MAP_NORESERVE | MAP_POPULATE);
	int acc = q->fd_flags & O_ACCMODE;

	return q->len < FM_HUGE && q->prot &&
	       !(q->prot & ~(PROT_READ | PROT_WRITE)) &&
	       (type == MAP_SHARED || type == MAP_PRIVATE) &&
	       !((uint64_t)q->off & FM_PAGE_MASK) && q->fd_flags >= 0 &&
	       !(q->fd_flags & O_PATH) && acc != O_WRONLY &&
	       (acc == O_RDWR || !q->shared || !(q->prot & PROT_WRITE));
}

static void note_accepted(const struct fm_mmap_request *q,
			  struct fm_file *known)
{
	if (known && is_simple(q))
		known->map_kinds |= kind_bit(q);
}

/* Where the program leaves the choice to the kernel, and does so often. */
static void *lay_window(struct fm_mmap_request *q, const struct fm_file *f,
			size_t len)
{
	void *p = NULL;

	if (!q->addr && atomic_load(&f->st->mappings) >= fm_tune.windows_sure)
		p = fm_window_cut(len, q->prot);
	q->cut = p != NULL;
	q->laid = !p;
	return p ? p : fm_sys_mmap(q->addr, len, q->prot, ANONYMOUS, -1, 0);
}

static int take_window(struct fm_mmap_request *q, struct fm_file *known,
		       void **ret)
{
	size_t len = fm_page_up(q->len);
	void *p;

	if (!is_simple(q) || !(known->map_kinds & kind_bit(q)) ||
	    fm_placeholders_left() || need_engine())
		return -ENOTSUP;
	p = lay_window(q, known, len);
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	q->left = take_to_engine(q, known, p);
	q->laid = q->cut = false;
	if (q->left)
		fm_sys_munmap(p, len);
	else
		*ret = p;
	return q->left ? -EBUSY : 0;
}

/* ---- mmap -------------------------------------------------------------- */

/* Nobody knows of the mapping yet, and it has replaced nothing. */
static bool may_begin_again(const struct fm_mmap_request *q)
{
	return q->slow && q->left == FM_WHY_SHARED &&
	       !(q->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
}

/* The kernel has put it where a mapping of ours was, so that was unmapped
 * behind our back. */
static void forget_stale(const struct fm_mmap_request *q, void *p)
{
	const uintptr_t a = (uintptr_t)p;

	if (fm_overlaps(p, q->len))
		fm_range_release(a, fm_page_up(a + q->len));
}

static void *mmap_ours(struct fm_mmap_request *q, struct fm_file *known)
{
	const bool want = fm_server_for(q, known) == FM_SERVER_ENGINE;
	int err = clear_target(q);
	int keep = q->flags;
	void *p = NULL;

	if (err)
		return (void *)(intptr_t)err;
	if (q->source && !want)
		return source_refuse(q);
	if (want && known && !take_window(q, known, &p))
		return p;
	if (want)
		q->flags &= ~MAP_POPULATE;
	p = want && q->over.n ? q->addr : map_kernel(q);
	q->flags = keep;
	if (fm_is_err(p))
		return p;
	if (!q->over.n)
		forget_stale(q, p);
	err = want ? take_timed(q, known, p) : -ENOTSUP;
	if (err && q->source)
		return source_unmap(q, p);
	if (err && may_begin_again(q))
		return p;
	if (err) {
		if ((want && mmap_put_back(q, p)) ||
		    mmap_leave_to_kernel(q, known))
			return unmap_and_fail(q, p);
		q->populate = false; /* done by the kernel */
	} else {
		note_accepted(q, known);
	}
	return p;
}

/* Others have the file, and need time to hand it over: other threads may map
 * meanwhile. Who was there may have been the guardian of a dead process. */
static void *wait_for_others(struct fm_mmap_request *q,
			     struct fm_file **known, void *p, uint64_t *old)
{
	const bool again = !fm_is_err(p) && may_begin_again(q);
	struct fm_file *f = q->slow;

	if (again)
		fm_sys_munmap(p, q->len);
	fm_space_unlock(old);
	fm_peers_wait(f);
	fm_space_lock(old);
	q->slow = NULL;
	q->waited = true;
	if (again && !*known)
		*known = mmap_look_again(q);
	p = again ? mmap_ours(q, *known) : p;
	fm_file_put_locked(f);
	return p;
}

/* Windows beside ours come and go, and what is executed is read by its own
 * order. */
static bool may_be_advised(const struct fm_mmap_request *q)
{
	return q->policy && q->policy->engage &&
	       q->policy->serve != FM_SERVE_KERNEL &&
	       (q->asked || q->len >= q->policy->min_size) &&
	       q->left != FM_WHY_WINDOW &&
	       q->left != FM_WHY_EXECUTABLE &&
	       !(q->flags & (MAP_HUGETLB | MAP_GROWSDOWN)) &&
	       fm_settings()->mode == FM_MODE_ON;
}

/* What is the kernel's by the policy is recorded, too. */
static bool may_be_of_use(const struct fm_mmap_request *q)
{
	return may_be_advised(q) ||
	       (fm_settings()->trace_serve && q->left == FM_WHY_SERVE);
}

static enum fm_served_by served_by(const struct fm_mmap_request *q)
{
	return may_be_advised(q) ? fm_served_beside_engine(q->policy) :
				   FM_BY_KERNEL;
}

static void note_range(const struct fm_mmap_request *q, void *p)
{
	const struct fm_krange r = {
		.start = (uintptr_t)p,
		.end = fm_page_up((uintptr_t)p + q->len),
		.dev = q->st.st_dev,
		.ino = q->st.st_ino,
		.pgoff = (uint64_t)q->off >> FM_PAGE_SHIFT,
		.written = q->written,
		.policy = q->policy,
		.fd = q->fd,
		.why = q->left,
		.prot = (uint8_t)q->prot,
		.shared = q->shared,
		.maywrite = q->maywrite,
		.kept = q->flags & MAP_LOCKED,
	};

	fm_krange_add(&r);
}

/* The engine serves none of it, nor had to. */
static void mmap_note_seen(const struct fm_mmap_request *q,
			   struct fm_unserved *l)
{
	if (l && q->path[0] && q->policy && q->policy->engage &&
	    !q->policy->source && !q->asked)
		fm_seen_fd_note(q->fd, &q->st, l, q->policy);
}

static void *mmap_note_left(const struct fm_mmap_request *q,
			    const struct fm_file *known, void *p)
{
	struct fm_unserved *l;
	const struct fm_left left = {
		.path = known ? known->path : q->path,
		.len = q->len,
		.n = q->count,
		.shared = q->shared,
		.writable = q->prot & PROT_WRITE,
		.why = q->left,
		.by = known ? FM_BY_NOBODY : served_by(q),
	};

	if (q->left && !fm_is_err(p) && may_be_of_use(q))
		note_range(q, p);
	if (q->left && !fm_is_err(p)) {
		l = fm_unserved_note(&q->st, &left);
		if (!known)
			mmap_note_seen(q, l);
	} else if (!known && !fm_is_err(p) && q->policy) {
		fm_unserved_by(q->st.st_dev, q->st.st_ino, FM_BY_NOBODY);
	}
	return p;
}

static const char *mmap_path_of(void *arg)
{
	return fm_mmap_path(arg) ? ((struct fm_mmap_request *)arg)->path : NULL;
}

/* What was hot of it may come back. */
static void note_warm(struct fm_mmap_request *q)
{
	const struct fm_warm_mapping m = {
		.dev = q->st.st_dev, .ino = q->st.st_ino, .off = q->off,
		.len = q->len, .path = mmap_path_of, .arg = q,
	};

	if (q->policy && q->policy->engage && !q->source &&
	    (!q->left || may_be_advised(q)))
		fm_warm_mapped(&m);
}

static void mmap_look_at_flags(struct fm_mmap_request *q)
{
	q->fd_flags = (int)fm_sys3(SYS_fcntl, q->fd, F_GETFL, 0);
	q->maywrite = q->shared && (q->fd_flags & O_ACCMODE) == O_RDWR &&
		      !q->source;
}

static void *mmap_request(void *addr, size_t len, int prot, int flags, int fd,
			  off_t off, bool asked)
{
	char path[FM_MMAP_PATH];
	struct fm_mmap_request q = {
		.path = path,
		.addr = addr, .len = len, .prot = prot, .flags = flags,
		.fd = fd, .off = off,
		.shared = (flags & MAP_TYPE) != MAP_PRIVATE,
		.populate = flags & MAP_POPULATE,
		.count = 1, .written = UINT64_MAX,
		.asked = asked,
	};
	struct fm_file *known;
	uint64_t old;
	void *p;
	int err;

	if (!fm_mmap_candidate(&q, &known)) {
		if (!(flags & MAP_FIXED) || !fm_overlaps(addr, len))
			return mmap_note_left(&q, NULL, map_kernel(&q));
	}
	if (q.policy && q.policy->engage)
		FM_UP_EACH(shim_maps, tell)
			tell();
	err = source_ready(&q);
	if (err) {
		if (known)
			fm_file_put(known);
		return (void *)(intptr_t)err;
	}
	mmap_look_at_flags(&q);
	if (flags & MAP_FIXED)
		fm_write_before((uintptr_t)addr,
				fm_page_up((uintptr_t)addr + len));
	fm_parted_look();
	fm_space_lock(&old);
	if (flags & MAP_FIXED)
		fm_range_drain((uintptr_t)addr,
			       fm_page_up((uintptr_t)addr + len),
			       FM_DRAIN_REMOVES);
	if (!known)
		known = mmap_look_again(&q);
	if (q.policy && q.policy->engage) {
		p = mmap_ours(&q, known);
		if (q.slow)
			p = wait_for_others(&q, &known, p, &old);
	} else { /* something else over managed memory */
		err = clear_target(&q);
		p = err ? (void *)(intptr_t)err : map_kernel(&q);
	}
	mmap_note_left(&q, known, p);
	if (known)
		fm_file_put_locked(known);
	fm_space_unlock(&old);
	fm_fixed_replace_free(&q.over);
	if (!fm_is_err(p))
		note_warm(&q);
	if (q.bring)
		fm_kernel_windows_bring(q.bring, fd, q.st.st_dev, off, len);
	if (q.populate && q.policy && !fm_is_err(p))
		fm_madvise(p, len, MADV_POPULATE_READ);
	return p;
}

void *fm_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return mmap_request(addr, len, prot, flags, fd, off, false);
}

void *fm_mmap_asked(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off)
{
	return mmap_request(addr, len, prot, flags, fd, off, true);
}

int fm_mmap_anew(int fd, const struct fm_kmap *k)
{
	char path[FM_MMAP_PATH];
	struct fm_mmap_request q = {
		.path = path,
		.addr = k->addr, .len = k->len, .prot = k->prot,
		.flags = k->flags | MAP_FIXED, .fd = fd, .off = k->off,
		.shared = (k->flags & MAP_TYPE) != MAP_PRIVATE,
		.count = 1, .fd_flags = O_RDONLY,
	};
	struct fm_file *known;
	void *p = (void *)(intptr_t)-EOPNOTSUPP;

	if (fm_mmap_candidate(&q, &known) && q.source)
		p = mmap_ours(&q, known);
	if (known)
		fm_file_put_locked(known);
	fm_fixed_replace_free(&q.over);
	return fm_is_err(p) ? (int)(intptr_t)p : 0;
}
