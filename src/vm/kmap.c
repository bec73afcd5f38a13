/* SPDX-License-Identifier: MIT */
/*
 * kmap.c - the kernel's mapping, laid over ours.
 *
 * It is made by a short-lived process that shares our memory but has a
 * descriptor table of its own: closing the descriptor that mmap needs would
 * otherwise drop the program's POSIX locks on the file. If the descriptor that
 * the program mapped is still there, it is the one: the kernel's mapping then
 * hears what the program says to it (posix_fadvise), and holds its locks, as
 * without us.
 */
#include "advise/advise.h"
#include "base/alloc.h"
#include "base/apart.h"
#include "base/life.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/proc.h"
#include "base/snapshot.h"
#include "base/sys.h"
#include "base/vma_room.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"

/* ---- the mapping helper ------------------------------------------------ */

struct helper {
	const struct fm_file *file;
	const char *path;
	const struct fm_kmap *maps;
	size_t n, at; /* before it all are laid */
	struct fm_vma_room *room; /* NULL: none */
	int err;
	bool may_dup; /* within fm_ring_dup_begin */
	bool done; /* nobody has killed it before */
};

/* Where the program has taken every number one is given up: the table is a
 * copy, and neither the program nor its locks lose anything. */
static int helper_open(const struct helper *h, int flags)
{
	const int other = h->file->io->path == 0 ? 1 : 0;
	int fd = fm_sys_open(h->path, flags, 0);

	if (fd == -EMFILE && !fm_sys_close(other))
		fd = fm_sys_open(h->path, flags, 0);
	return fd;
}

/* Of a shared mapping the kernel remembers for ever whether it may be stored
 * to. */
static bool helper_may(const struct helper *h, const struct fm_kmap *k)
{
	int flags =
		k->fd < 0 ? -EBADF : (int)fm_sys2(SYS_fcntl, k->fd, F_GETFL);
	int acc = flags & O_ACCMODE;

	if (flags < 0 || (flags & O_PATH) || acc == O_WRONLY ||
	    ((k->flags & MAP_SHARED) && (acc == O_RDWR) != k->write))
		return false;
	return fm_sys_is_file(k->fd, h->file->dev, h->file->ino);
}

static int helper_map(const struct fm_kmap *k, int fd)
{
	void *p = fm_sys_mmap(k->addr, k->len, k->prot, k->flags | MAP_FIXED,
			      fd, k->off);

	return fm_is_err(p) ? (int)(intptr_t)p : 0;
}

static bool may_not_open(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS ||
	       err == -ENOENT;
}

/* The file may not be opened any more (chmod, or our number has been closed),
 * which a mapping does not mind: by a descriptor of ours. */
static int helper_fd(const struct helper *h, const struct fm_kmap *k)
{
	int fd = helper_open(h, k->write ? O_RDWR : O_RDONLY);

	return may_not_open(fd) && h->may_dup ?
		       fm_store_of(h->file)->dup(h->file) : fd;
}

static int helper_one(const struct helper *h, const struct fm_kmap *k)
{
	int fd, err = -EBADF;

	if (helper_may(h, k))
		return helper_map(k, k->fd);
	fd = helper_fd(h, k);
	if (fd < 0)
		return fd;
	/* The number that the path names may have been closed behind our
	 * back. */
	if (fm_sys_is_file(fd, h->file->dev, h->file->ino))
		err = helper_map(k, fd);
	fm_sys_close(fd);
	return err;
}

/* What may be otherwise in a moment. A fork's child has nobody else to ask. */
static bool kmap_passes(int err)
{
	return err == -ENOMEM || err == -ENFILE || err == -EAGAIN ||
	       err == -EINTR;
}

/* Of what is held nothing is given for the first: nothing has begun. */
static bool kmap_room(const struct helper *h)
{
	return h->err == -ENOMEM && h->at && h->room &&
	       fm_vma_room_give(h->room);
}

/* Runs in the helper process: raw system calls only. */
static void helper_main(void *arg)
{
	struct helper *h = arg;

	for (h->err = 0; h->at < h->n && !h->err; h->at += !h->err) {
		const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);

		do
			h->err = helper_one(h, &h->maps[h->at]);
		while (kmap_room(h) ||
		       (kmap_passes(h->err) && fm_wait_on(&w)));
	}
	h->done = true;
}

static int run_helper(struct helper *h)
{
	int err;

	h->done = false;
	err = fm_apart(helper_main, h);
	if (err)
		return err;
	return h->done ? h->err : -EINTR;
}

/* For several in place a descriptor of ours can be had from the start: once
 * some are laid there may be no second process. */
static int kmap_lay(struct helper *h)
{
	uint64_t old;
	int err = h->n > 1 && h->room ? -EACCES : run_helper(h);

	if (!may_not_open(err))
		return err;
	h->may_dup = true;
	fm_ring_dup_begin(&old);
	err = run_helper(h);
	fm_ring_dup_end(&old);
	return err;
}

int fm_kernel_map_all(struct fm_file *f, const struct fm_kmap *maps, size_t n,
		      struct fm_vma_room *room, size_t *ret_n)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	char path[FM_PROC_FD];
	struct helper h = { .file = f, .maps = maps, .n = n, .room = room };
	int err;

	if (fm_only_engine(f))
		return -EOPNOTSUPP;
	h.path = fm_recovered_path(f, path);
	do /* again where somebody has killed it */
		err = kmap_lay(&h);
	while (err && room && h.at && fm_wait_on(&w));
	*ret_n = h.at;
	return err;
}

/* Where memory is short the target may have been unmapped already; what is to
 * come there is still where it was. */
int fm_kmap_move(char *from, char *to, size_t len, struct fm_vma_room *room)
{
	const struct fm_wait w = fm_wait_for(room ? fm_tune.patience_ms :
						    fm_tune.moment_ms);
	long err = 0;

	do
		err = fm_sys5(SYS_mremap, from, len, len,
			      MREMAP_MAYMOVE | MREMAP_FIXED, to);
	while (err == -ENOMEM &&
	       ((room && fm_vma_room_give(room)) || fm_wait_on(&w)));
	return fm_is_err((void *)err) ? (int)err : 0;
}

int fm_kernel_map(struct fm_file *f, const struct fm_kmap *k)
{
	size_t n;

	return fm_kernel_map_all(f, k, 1, NULL, &n);
}

/* Pages that the program has pinned stay so, as far as it may lock memory. */
static void kmap_pin(struct fm_file *f, const struct fm_krange *r)
{
	const uint64_t stop = r->pgoff + ((r->end - r->start) >> FM_PAGE_SHIFT);
	uint64_t i = r->pgoff, n;
	int err = 0;

	for (; !err && fm_shares_pins(f, i, stop, &i, &n); i += n) {
		const uintptr_t at = r->start +
				     ((i - r->pgoff) << FM_PAGE_SHIFT);

		err = fm_krange_pin(at, at + (n << FM_PAGE_SHIFT), true);
	}
	if (err)
		fm_log(FM_LOG_WARN, "%s: the kernel serves it, and pages that "
		       "are pinned may leave, errno %d (RLIMIT_MEMLOCK?)",
		       f->path, -err);
}

void fm_kmap_laid(struct fm_file *f, const struct fm_kmap *k)
{
	const struct fm_krange r = {
		.start = (uintptr_t)k->addr,
		.end = (uintptr_t)k->addr + k->len,
		.dev = f->dev,
		.ino = f->ino,
		.pgoff = (uint64_t)k->off >> FM_PAGE_SHIFT,
		.written = (uint64_t)atomic_load(&f->size),
		.policy = f->policy,
		.fd = k->fd,
		.why = FM_WHY_HANDED,
		.prot = (uint8_t)k->prot,
		.shared = k->flags & MAP_SHARED,
		.maywrite = k->write,
		.handed = true,
	};

	fm_krange_add(&r);
	kmap_pin(f, &r);
}

FM_UP(vma_advice_told, fm_krange_said)

struct fm_kmap fm_kmap_of(struct fm_map *m)
{
	struct fm_kmap k = {
		.addr = (void *)atomic_load(&m->start),
		.len = atomic_load(&m->end) - atomic_load(&m->start),
		.prot = atomic_load(&m->prot),
		.flags = (m->shared ? MAP_SHARED : MAP_PRIVATE) |
			 (m->noreserve ? MAP_NORESERVE : 0),
		.off = (off_t)(m->pgoff << FM_PAGE_SHIFT),
		.write = m->shared && m->maywrite,
		.fd = m->fd,
	};

	return k;
}

/* ---- pieces ------------------------------------------------------------ */

/*
 * Mappings that are one to the program and several to us: one that grew, or
 * whose parts were advised or protected differently for a while. The kernel can
 * join what it maps only if it came by one descriptor, and grows and moves no
 * more than one such mapping at a time (mremap: EFAULT).
 */
static bool kmap_continues(const struct fm_kmap *a, const struct fm_kmap *b)
{
	return (char *)a->addr + a->len == b->addr &&
	       a->off + (off_t)a->len == b->off && a->prot == b->prot &&
	       a->flags == b->flags && a->write == b->write;
}

static void kmap_sort(struct fm_kmap *v, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++) {
			struct fm_kmap k = v[i];
			size_t at = i;

			for (; at >= gap && v[at - gap].addr > k.addr;
			     at -= gap)
				v[at] = v[at - gap];
			v[at] = k;
		}
}

static void put_shared(struct fm_snapshot *s, void *file)
{
	struct fm_map *m;

	fm_for_each_map(m, (struct fm_file *)file) {
		struct fm_kmap k = fm_kmap_of(m);

		if (m->shared)
			fm_snapshot_put(s, &k);
	}
}

void fm_pieces_note(struct fm_file *f, struct fm_pieces *ret)
{
	struct fm_snapshot s = { .n = 0 };

	if (atomic_load(&f->nmaps) > 1)
		fm_snapshot(&s, sizeof(*ret->v), put_shared, f);
	*ret = (struct fm_pieces){ s.list, s.n };
	kmap_sort(ret->v, ret->n);
}

void fm_pieces_join(struct fm_file *f, struct fm_pieces *p, bool laid)
{
	for (size_t i = 0, end; laid && i < p->n; i = end) {
		struct fm_kmap all = p->v[i];

		for (end = i + 1;
		     end < p->n && kmap_continues(&all, &p->v[end]); end++)
			all.len += p->v[end].len;
		/* else they stay pieces */
		if (end == i + 1 || fm_kernel_map(f, &all))
			continue;
		fm_kmap_laid(f, &all);
		fm_range_maps((uintptr_t)all.addr,
			      (uintptr_t)all.addr + all.len, fm_map_tell,
			      NULL);
	}
	fm_free(p->v);
}
