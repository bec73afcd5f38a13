/* SPDX-License-Identifier: MIT */
#include "uffd.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "base/lock.h"
#include "base/reason.h"
#include "base/sys.h"
#include "engine.h"
#include "io/io.h"

/* Newer than the oldest headers we build with (Debian 12: Linux 6.1). */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1 /* ABI: Linux 5.11 */
#endif
#define FM_USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#define FM_UFFD_FEATURE_MOVE (1ull << 16) /* ABI: Linux 6.8 */
#define FM_UFFD_FEATURE_POISON (1ull << 14) /* ABI: Linux 6.6 */
struct fm_uffdio_poison {
	uint64_t addr, len, mode;
	int64_t updated;
};
#define FM_UFFDIO_POISON _IOWR(UFFDIO, 0x08, struct fm_uffdio_poison)
struct fm_uffdio_move {
	uint64_t dst, src, len, mode;
	int64_t move;
};
#define FM_UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct fm_uffdio_move)
/* pidfd numbers that mean "myself", Linux 6.14; a real pidfd works before. */
#define FM_PIDFD_SELF (-10001) /* PIDFD_SELF_THREAD_GROUP */

static _Atomic int uffd = -1;
static int self_pidfd = FM_PIDFD_SELF;
static struct fm_uffd_caps caps;
static enum fm_delivery delivery;
static const char *delivery_why = "not started";

FM_FAULT enum fm_delivery fm_delivery(void)
{
	return delivery;
}

/* Memory the program may only read is writable underneath, so that huge
 * frames can be moved in; write protection by userfaultfd guards it. Not in
 * thread delivery, where the kernel itself must refuse its own stores. */
int fm_uffd_vma_prot(int prot, size_t len)
{
	const bool loose = prot == PROT_READ && len >= FM_HUGE &&
			   fm_uffd_caps()->move &&
			   fm_delivery() == FM_DELIVERY_SIGNAL;

	return loose ? PROT_READ | PROT_WRITE : prot;
}

const char *fm_delivery_why(void)
{
	return delivery_why;
}

void fm_delivery_set(enum fm_delivery how, const char *why)
{
	delivery = how;
	delivery_why = why;
}

FM_FAULT int fm_uffd_fd(void)
{
	return uffd;
}

FM_FAULT void fm_uffd_set_fd(int fd)
{
	uffd = fd;
}

FM_FAULT bool fm_uffd_lost(int was)
{
	const int err = fm_recover_fd(&uffd, was, FM_BACKUP_UFFD);

	/* What serves nothing misses nothing: who kept it may have ended. */
	if (err < 0 && fm_active())
		fm_recovery_tell("userfaultfd", err);
	return !err;
}

FM_FAULT const struct fm_uffd_caps *fm_uffd_caps(void)
{
	return &caps;
}

static int open_raw(bool want_kernel, struct fm_uffd_caps *c)
{
	int flags = O_CLOEXEC | O_NONBLOCK;
	int fd, dev;

	fd = (int)fm_sys1(SYS_userfaultfd,
			  flags | (want_kernel ? 0 : UFFD_USER_MODE_ONLY));
	c->user_only = !want_kernel;
	if (fd >= 0)
		return fd;
	dev = fm_sys_open("/dev/userfaultfd", O_RDWR, 0);
	if (dev >= 0) {
		int dfd = fm_sys_ioctl(dev, FM_USERFAULTFD_IOC_NEW,
				       (void *)(long)flags);
		fm_sys_close(dev);
		if (dfd >= 0) {
			c->device = true;
			c->user_only = false;
			return dfd;
		}
	}
	return fd;
}

/* UFFDIO_API may be called once per descriptor: ask on a throw-away one. */
static int query_features(bool want_kernel, uint64_t *ret)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct fm_uffd_caps tmp = { 0 };
	int fd = open_raw(want_kernel, &tmp);
	int err;

	if (fd < 0)
		return fd;
	err = fm_sys_ioctl(fd, UFFDIO_API, &api);
	fm_sys_close(fd);
	*ret = api.features;
	return err;
}

static bool probe_batch_drop(void)
{
	char *p = fm_sys_anon(2 * 4096);
	struct iovec v = { p, 4096 };
	bool ok = false;

	if (!p)
		return false;
	p[0] = 1;
	if (fm_sys5(SYS_process_madvise, self_pidfd, &v, 1, MADV_DONTNEED, 0) ==
	    4096)
		ok = p[0] == 0;
	fm_sys_munmap(p, 2 * 4096);
	return ok;
}

int fm_uffd_open(bool signal, struct fm_uffd_caps *c)
{
	const uint64_t need = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
			      (signal ? UFFD_FEATURE_SIGBUS : 0);
	struct uffdio_api api = { .api = UFFD_API };
	uint64_t have = 0;
	bool want_kernel = !signal;
	int err, fd;

	c->failed = "userfaultfd";
	err = query_features(want_kernel, &have);
	if (err && want_kernel) {
		want_kernel = false;
		err = query_features(false, &have);
	}
	if (err)
		return err;
	c->failed = "userfaultfd features";
	if ((have & need) != need)
		return -EOPNOTSUPP;
	fd = open_raw(want_kernel, c);
	if (fd < 0)
		return fd;
	c->remap = c->remap && !signal && (have & UFFD_FEATURE_EVENT_REMAP);
	api.features = need | (have & FM_UFFD_FEATURE_MOVE) |
		       (signal ? 0 : have & UFFD_FEATURE_THREAD_ID) |
		       (c->remap ? UFFD_FEATURE_EVENT_REMAP : 0);
	err = fm_sys_ioctl(fd, UFFDIO_API, &api);
	if (err) {
		fm_sys_close(fd);
		return err;
	}
	c->features = have;
	c->move = (have & FM_UFFD_FEATURE_MOVE) != 0;
	c->batch_drop = probe_batch_drop();
	c->failed = NULL;
	uffd = fd;
	caps = *c;
	return 0;
}

/* The number may be gone (fd_recovery.h). A child of fork has none: what it
 * would find is the parent's memory. */
static FM_FAULT int call(unsigned long request, void *arg)
{
	int fd = atomic_load_explicit(&uffd, memory_order_relaxed);
	int err;

	if (fd < 0)
		return -EBADF;
	err = fm_sys_ioctl(fd, request, arg);
	if (fm_is_lost(err) && fm_uffd_lost(fd))
		err = fm_sys_ioctl(atomic_load(&uffd), request, arg);
	return err;
}

static FM_FAULT int register_range(void *addr, size_t len, uint64_t mode)
{
	struct uffdio_register r = { { (uintptr_t)addr, len }, mode, 0 };

	return call(UFFDIO_REGISTER, &r);
}

int fm_uffd_register(void *addr, size_t len)
{
	return register_range(addr, len, UFFDIO_REGISTER_MODE_MISSING |
					 UFFDIO_REGISTER_MODE_WP);
}

int fm_uffd_unregister(void *addr, size_t len)
{
	struct uffdio_range r = { (uintptr_t)addr, len };

	return call(UFFDIO_UNREGISTER, &r);
}

/* A page that is moved while it is swapped out takes its write protection
 * along. */
FM_FAULT int fm_uffd_register_moves(void *addr, size_t len)
{
	return register_range(addr, len, UFFDIO_REGISTER_MODE_MISSING);
}

int fm_uffd_lay(void *addr, size_t len)
{
	int err = fm_uffd_register(addr, len);

	/* New memory has pages where all that is new is locked, by a call that
	 * passed us by. It says so then: EINVAL. */
	if (!err)
		err = fm_sys_madvise(addr, len, MADV_DONTNEED);
	if (err)
		return err;
	/* A page that is merged with others forgets that it is protected. */
	fm_sys_madvise(addr, len, MADV_UNMERGEABLE);
	fm_sys_madvise(addr, len, MADV_DONTFORK);
	fm_sys_madvise(addr, len, MADV_DONTDUMP);
	fm_sys_madvise(addr, len, MADV_NOHUGEPAGE);
	return 0;
}

int fm_uffd_take_in(void *addr, size_t len)
{
	int err = fm_sys_madvise(addr, len, MADV_DONTFORK);

	if (!err)
		err = fm_uffd_register(addr, len);
	if (!err)
		err = fm_uffd_protect(addr, len, true);
	fm_sys_madvise(addr, len, MADV_DONTDUMP);
	return err;
}

FM_FAULT long fm_uffd_copy(void *dst, const void *src, size_t len,
			   bool protect)
{
	size_t done = 0;

	while (done < len) {
		struct uffdio_copy c = {
			.dst = (uintptr_t)dst + done,
			.src = (uintptr_t)src + done,
			.len = len - done,
			.mode = protect ? UFFDIO_COPY_MODE_WP : 0,
		};
		int err = call(UFFDIO_COPY, &c);

		if (!err)
			return (long)len;
		if (c.copy > 0)
			done += (size_t)c.copy;
		else if (err != -EAGAIN)
			return done ? (long)done : err;
	}
	return (long)len;
}

static _Atomic uint64_t protects;

FM_FAULT uint64_t fm_uffd_protects(void)
{
	return atomic_load(&protects);
}

FM_FAULT int fm_uffd_protect(void *addr, size_t len, bool on)
{
	struct uffdio_writeprotect w = {
		.range = { (uintptr_t)addr, len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int err;

	if (on)
		atomic_fetch_add(&protects, 1);
	do
		err = call(UFFDIO_WRITEPROTECT, &w);
	while (err == -EAGAIN);
	return err;
}

/* The kernel has refused before it moved anything. Of other errors that is not
 * known: from 6.18 on, where a page was locked at the first try, it moves pages
 * that it does not count, tries them once more and says EEXIST (mended by
 * "userfaultfd: reset err to be 0 when move_pages_ptes succeeded", in 2026). */
static FM_FAULT bool is_untouched(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -EINVAL;
}

FM_FAULT int fm_uffd_move(void *dst, void *src, size_t len)
{
	size_t done = 0;
	int spins = 0;

	while (done < len) {
		struct fm_uffdio_move m = {
			.dst = (uintptr_t)dst + done,
			.src = (uintptr_t)src + done,
			.len = len - done,
		};
		int err = call(FM_UFFDIO_MOVE, &m);

		if (!err)
			return 0;
		if (m.move > 0) {
			done += (size_t)m.move;
			continue;
		}
		/* A page that direct I/O or an LRU batch still refers to. */
		if ((err != -EAGAIN && err != -EBUSY) || ++spins > 50)
			return done || !is_untouched(err) ? -EXDEV : err;
		fm_cpu_relax();
	}
	return 0;
}

FM_FAULT int fm_uffd_wake(void *addr, size_t len)
{
	struct uffdio_range r = { (uintptr_t)addr, len };

	return call(UFFDIO_WAKE, &r);
}

/* From behind vm.mmap_min_addr to where user space ends. */
#define LOWEST ((uintptr_t)2 << 20)

void fm_uffd_wake_all(void)
{
	fm_uffd_wake((void *)LOWEST, FM_ARCH_END - FM_PAGE - LOWEST);
}

/* Memory of this kind cannot be continued, and the kernel says so (EINVAL) as
 * soon as it has found that it is registered: nothing happens to its pages. */
static FM_FAULT bool is_registered(uintptr_t addr, size_t len)
{
	struct uffdio_continue c = { .range = { addr, len } };

	return call(UFFDIO_CONTINUE, &c) != -ENOENT;
}

FM_FAULT bool fm_uffd_has(const void *addr, size_t len)
{
	const uintptr_t from = (uintptr_t)addr & ~(uintptr_t)(FM_PAGE - 1);
	const uintptr_t to = (uintptr_t)addr + len;

	if (is_registered(from, fm_page_up(to - from)))
		return true;
	for (uintptr_t a = from; a < to; a += FM_PAGE) /* in two parts? */
		if (!is_registered(a, FM_PAGE))
			return false;
	return true;
}

_Atomic uint32_t fm_uffd_moving;

void *fm_uffd_mremap(uintptr_t from, size_t old_len, size_t new_len, int flags,
		     uintptr_t to)
{
	void *p;

	if (caps.remap) {
		atomic_fetch_add(&fm_uffd_moving, 1);
		fm_futex_wake(&fm_uffd_moving, 1);
	}
	p = (void *)fm_sys5(SYS_mremap, from, old_len, new_len, flags, to);
	if (caps.remap)
		atomic_fetch_sub(&fm_uffd_moving, 1);
	return p;
}

void fm_uffd_moves_bare(void *addr, size_t len)
{
	if (caps.remap)
		fm_uffd_unregister(addr, len);
}

bool fm_uffd_poisons(void)
{
	return caps.features & FM_UFFD_FEATURE_POISON;
}

/* It refuses pages that are poisoned already. */
int fm_uffd_poison(void *addr, size_t len)
{
	size_t done = 0;

	if (!fm_uffd_poisons())
		return -EOPNOTSUPP;
	while (done < len) {
		struct fm_uffdio_poison p = {
			.addr = (uintptr_t)addr + done,
			.len = len - done,
		};
		int err = call(FM_UFFDIO_POISON, &p);

		if (!err)
			return 0;
		if (p.updated > 0)
			done += (size_t)p.updated;
		else if (err != -EAGAIN)
			return err;
	}
	return 0;
}

/* Since a bare system call instruction locked it. */
static FM_FAULT int drop_locked(void *addr, size_t len)
{
	int err = fm_sys_madvise(addr, len, MADV_DONTNEED_LOCKED);

	if (err != -EINVAL || fm_sys_confined())
		return err;
	fm_sys2(SYS_munlock, addr, len); /* before Linux 5.18 */
	return fm_sys_madvise(addr, len, MADV_DONTNEED);
}

FM_FAULT int fm_uffd_drop(void *addr, size_t len)
{
	int err = fm_sys_madvise(addr, len, MADV_DONTNEED);

	return err == -EINVAL ? drop_locked(addr, len) : err;
}

static FM_FAULT void advisev(const struct iovec *iov, int n, int advice)
{
	if (caps.batch_drop && n > 1 && !fm_sys_confined()) {
		size_t want = 0;

		for (int k = 0; k < n; k++)
			want += iov[k].iov_len;
		if (fm_sys5(SYS_process_madvise, self_pidfd, iov, n, advice,
			    0) == (long)want)
			return;
		/* Partly done: twice is harmless. */
	}
	for (int k = 0; k < n; k++)
		if (advice == MADV_DONTNEED)
			fm_uffd_drop(iov[k].iov_base, iov[k].iov_len);
		else
			fm_sys_madvise(iov[k].iov_base, iov[k].iov_len, advice);
}

FM_FAULT void fm_uffd_dropv(const struct iovec *iov, int n)
{
	advisev(iov, n, MADV_DONTNEED);
}

FM_FAULT void fm_uffd_freev(const struct iovec *iov, int n)
{
	advisev(iov, n, MADV_FREE);
}
