/* SPDX-License-Identifier: MIT */
/*
 * guardian_flush.c - write the dirty pages of a dead program back.
 *
 * Every thread of the program stopped at an arbitrary instruction, perhaps
 * with locks held. So no lock is taken, no mode byte is believed, and only
 * three things are read that are right at every instant: the dirty index,
 * the file's list of mappings, and the page table itself (/proc/self/pagemap:
 * which addresses hold a page of ours). A dirty page is written from any
 * shared mapping that holds it: the coherence protocol drops all other copies
 * before it makes one writable, so copies that exist at the same instant are
 * equal.
 *
 * Instants, and why no store is lost:
 *  - first store to a missing page: the bit is set, then the page appears.
 *    Dead in between: nothing was stored, the page is not in the page table.
 *    Dead after it appears and before its mode byte says so: other threads
 *    may have stored, and the page table shows the page.
 *  - first store to a clean page: bit, then un-protect.
 *  - write-back: protected, bit kept until the write has completed, and kept
 *    beyond it when a store came in between. A ring's direct writes may be in
 *    flight still when the kernel reports the death: they are waited for.
 *  - eviction: only clean pages leave.
 *  - munmap: flushed and locked while it is still mapped.
 *  - split: the upper piece is in the list before the lower one is cut.
 *  - demotion: the kernel's mapping arrives when no bit is set any more, and
 *    what it shows are pages of the file, which we never write (bit 61).
 * What is lost:
 *  - a moving mremap: between the system call and the new mapping's entry in
 *    the list (some microseconds) stores are at an address nobody knows.
 *  - write-back fails here (no space, device error): as with the kernel.
 *  - the guardian dies as well: OOM kill (the kernel kills every process that
 *    shares the memory), cgroup.kill, the end of a PID namespace, kill -9 -1,
 *    power. Bounded by the interval of background write-back.
 */
#include "base/sys.h"
#include "file/file.h"
#include "guardian.h"
#include "io/io.h"
#include "map/map.h"

#define RUN 256 /* pages per write: 1 MiB */
#define PAGEMAP_HELD (3ull << 62) /* ABI: present, or swapped out */
#define PAGEMAP_FILE (1ull << 61) /* ABI: the kernel's mapping */

/* Where to write: a plain descriptor, or a slot of the home ring on kernels
 * that cannot turn a fixed file into one (before 6.8). */
struct out {
	int fd;
	uint32_t slot;
	struct fm_file *file;
	uint64_t size;
	char *end; /* windows on its last page, witness.h; or NULL */
};

static long out_read(const struct out *o, void *buf, size_t len, uint64_t off)
{
	return o->fd >= 0 ? fm_sys_pread(o->fd, buf, len, (off_t)off) :
			    fm_home_io(FM_READ, o->slot, buf, len, off);
}


/* ---- size -------------------------------------------------------------- */

static bool in_file(const struct out *o, uint64_t off)
{
	char c;

	return out_read(o, &c, 1, off) == 1;
}

/* No way to ask a fixed file for its size: find the last readable byte. The
 * size we knew is right nearly always and costs two reads. */
static uint64_t probe_size(const struct out *o, uint64_t known)
{
	uint64_t lo = 0, hi = known;

	if (known == 0 || in_file(o, known - 1)) {
		if (!in_file(o, known))
			return known;
		lo = known + 1;
		for (hi = lo * 2; hi >> 62 == 0 && in_file(o, hi - 1); hi *= 2)
			lo = hi;
	}
	while (lo < hi) { /* size is in [lo, hi) or equal to lo */
		uint64_t mid = lo + (hi - lo) / 2;

		if (in_file(o, mid))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint64_t out_size(const struct out *o)
{
	struct stat st;

	if (o->fd >= 0)
		return fm_sys_fstat(o->fd, &st) ? 0 : (uint64_t)st.st_size;
	return probe_size(o, (uint64_t)atomic_load(&o->file->size));
}

/* ---- the end of the file, which others may cut meanwhile --------------- */

/* A sandbox may refuse it, or the kernel not have it. */
static bool may_copy(void)
{
	char a = 0, b;

	return fm_sys_vm_copy(SYS_process_vm_readv, &b, &a, 1) == 1 &&
	       fm_sys_vm_copy(SYS_process_vm_writev, &b, &a, 1) == 1;
}

/* A private copy of its last page, and that page itself. Nobody but us is in
 * this memory, so that one of each is enough. */
static void out_watch(struct out *o)
{
	const off_t last = (off_t)((o->size - 1) & ~FM_PAGE_MASK);
	void *p;

	if (o->end)
		fm_sys_munmap(o->end, 2 * FM_PAGE);
	o->end = NULL;
	if (o->fd < 0 || !o->size || !may_copy())
		return;
	p = fm_sys_far(2 * FM_PAGE, PROT_NONE);
	if (fm_is_err(p))
		return;
	o->end = p;
	if (fm_is_err(fm_sys_mmap(p, FM_PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_FIXED, o->fd, last)) ||
	    fm_is_err(fm_sys_mmap((char *)p + FM_PAGE, FM_PAGE,
				  PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_FIXED, o->fd, last))) {
		fm_sys_munmap(p, 2 * FM_PAGE);
		o->end = NULL;
	}
}

/* The first byte comes from a page that goes when the file is cut before it. */
static long write_before(const struct out *o, char *buf, size_t len,
			 uint64_t off)
{
	struct iovec v[2] = { { o->end, 1 }, { buf + 1, len - 1 } };
	long n = fm_sys_vm_copy(SYS_process_vm_writev, buf, o->end, 1);

	if (n != 1)
		return n < 0 ? n : -EFAULT;
	return fm_sys4(SYS_pwritev, o->fd, v, 2, off);
}

static long out_write(const struct out *o, char *buf, size_t len, uint64_t off)
{
	const uint64_t last = (o->size - 1) & ~FM_PAGE_MASK;
	long n;

	if (o->fd < 0)
		return fm_home_io(FM_WRITE, o->slot, buf, len, off);
	if (!o->end)
		return fm_sys_pwrite(o->fd, buf, len, (off_t)off);
	if (off < last)
		return write_before(o, buf, fm_least(len, last - off), off);
	n = fm_sys_vm_copy(SYS_process_vm_readv,
				o->end + FM_PAGE + off % FM_PAGE, buf, len);
	/* the file is as long as before: no room, say, which a write tells */
	if (n == -EFAULT && out_size(o) == o->size)
		n = fm_sys_pwrite(o->fd, buf, len, (off_t)off);
	return n;
}

static struct out out_open(const struct fm_guard_files *g, struct fm_file *f)
{
	struct out o = { .fd = -1, .slot = f->id * 2 + 1, .file = f };

	if (fm_rings_uring())
		o.fd = (int)fm_home_fd(o.slot);
	else if (g->fd)
		o.fd = g->fd[f->id];
	o.size = o.fd >= 0 || fm_rings_uring() ? out_size(&o) : 0;
	out_watch(&o);
	return o;
}

/* ---- where the data is ------------------------------------------------- */

/* How many pages from `addr` on exist as private memory, at most n. */
static uint64_t pages_held(const struct fm_guard_files *g, uintptr_t addr,
			   uint64_t n)
{
	uint64_t e[RUN], k = 0;

	if (n > RUN)
		n = RUN;
	if (g->pagemap < 0)
		return n; /* the write finds out: EFAULT */
	if (fm_sys_pread(g->pagemap, e, n * 8,
			 (off_t)(addr >> FM_PAGE_SHIFT) * 8) != (ssize_t)n * 8)
		return 0;
	while (k < n && (e[k] & PAGEMAP_HELD) && !(e[k] & PAGEMAP_FILE))
		k++;
	return k;
}

/* Some shared mapping that holds page fp; how many of the n pages from there
 * on it holds as well. 0: nobody. */
static uint64_t guardian_flush_find(const struct fm_guard_files *g,
				    struct fm_file *f, uint64_t fp, uint64_t n,
				    uintptr_t *ret_addr)
{
	struct fm_map *m;

	fm_for_each_map(m, f) {
		uint64_t i, room, held;

		if (!m->shared || !fm_map_covers(m, fp, &i))
			continue;
		room = fm_map_pages(m) - i;
		held = pages_held(g, (uintptr_t)fm_map_addr(m, i),
				  n < room ? n : room);
		if (held) {
			*ret_addr = (uintptr_t)fm_map_addr(m, i);
			return held;
		}
	}
	return 0;
}

/* ---- writing ----------------------------------------------------------- */

/* Has somebody cut the file, or made it longer, since we looked? */
static bool guardian_flush_is_cut(struct out *o)
{
	uint64_t size = out_size(o);

	if (size == o->size)
		return false;
	o->size = size;
	out_watch(o);
	return true;
}

/* Never past the end of the file. A page that the program had made
 * inaccessible is opened: nobody runs here any more. */
static void write_run(struct out *o, uintptr_t addr, uint64_t off,
		      uint64_t len)
{
	bool opened = false;

	while (len && off < o->size) {
		long n = out_write(o, (char *)addr,
				   fm_least(len, o->size - off), off);

		if (n == -EINTR || n == -EAGAIN ||
		    (n == -EFAULT && guardian_flush_is_cut(o)))
			continue;
		if (n == -EFAULT && !opened) {
			opened = true;
			fm_sys_mprotect((void *)addr, fm_page_up(len),
					PROT_READ);
			continue;
		}
		if (n <= 0) /* this page cannot be written; the rest may */
			n = (long)(FM_PAGE - (off & FM_PAGE_MASK));
		if ((uint64_t)n >= len)
			return;
		addr += (uint64_t)n;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
}

/*
 * A ring's writes outlive the threads that asked for them: one that reached the
 * device after ours, or after those of who uses the file next, would bring old
 * bytes back, and leave an error for the next fsync(2). The ring does not
 * answer the dead, but fallocate(2) waits for all of the file. That page is
 * about to be written, and a page in flight counts as dirty.
 */
static void wait_for_device(const struct out *o, uint64_t fp)
{
	const uint64_t off = fp << FM_PAGE_SHIFT;
	long err;

	if (!fm_rings_uring() || off >= o->size)
		return;
	do
		err = o->fd >= 0 ? fm_sys4(SYS_fallocate, o->fd,
					   FALLOC_FL_KEEP_SIZE, off, FM_PAGE) :
				   fm_home_io(FM_FALLOCATE, o->slot, NULL,
					      FM_PAGE, off);
	while (err == -EINTR);
}

static uint64_t dirty_run(struct fm_file *f, uint64_t fp)
{
	uint64_t n = 1;

	while (n < RUN && fm_dirty_next(f, fp + n, fp + n + 1) == fp + n)
		n++;
	return n;
}

static void flush_file(const struct fm_guard_files *g, struct fm_file *f)
{
	uint64_t fp = fm_dirty_next(f, 0, FM_MAX_FILE_PAGES);
	struct out o;

	if (fp >= FM_MAX_FILE_PAGES)
		return;
	o = out_open(g, f);
	wait_for_device(&o, fp);
	while (fp << FM_PAGE_SHIFT < o.size) {
		uint64_t n = dirty_run(f, fp), held;
		uintptr_t addr = 0;

		held = guardian_flush_find(g, f, fp, n, &addr);
		if (held)
			write_run(&o, addr, fp << FM_PAGE_SHIFT,
				  held << FM_PAGE_SHIFT);
		fp = fm_dirty_next(f, fp + (held ? held : 1),
				   FM_MAX_FILE_PAGES);
	}
	if (o.end)
		fm_sys_munmap(o.end, 2 * FM_PAGE);
	if (o.fd >= 0 && fm_rings_uring())
		fm_sys_close(o.fd);
}

void fm_guardian_flush(const struct fm_guard_files *g)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (f->io->writable && !f->ephemeral)
			flush_file(g, f);
}
