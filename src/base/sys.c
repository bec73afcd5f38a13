/* SPDX-License-Identifier: MIT */
#include "sys.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lock.h"

/*
 * Engine memory lives far from where the kernel puts mappings by itself. A
 * program that unmaps memory and maps the hole again with MAP_FIXED, or unmaps
 * a range that has holes, relies on nobody else having mapped anything there
 * meanwhile; the engine maps at any time, in the middle of its loads.
 *
 * Above the bottom-up area and what sanitizers use, below where PIE programs
 * and the top-down area begin. The kernel refuses what is taken.
 */
#define BASE 0x480000000000ull
#define SPAN 0x080000000000ull
#define TRIES 64
#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static _Atomic uint64_t taken;

_Thread_local bool fm_signals_blocked;
_Atomic bool fm_used;

FM_FAULT void *fm_sys_far(size_t len, int prot)
{
	uint64_t size = (len + 0xfffu) & ~0xfffull;
	void *p;

	for (int i = 0; i < TRIES; i++) {
		uint64_t at = atomic_fetch_add(&taken, size) % SPAN;

		if (at + size > SPAN)
			continue;
		p = fm_sys_mmap((void *)(BASE + at), len, prot,
				FLAGS | MAP_FIXED_NOREPLACE, -1, 0);
		if ((uintptr_t)p == BASE + at)
			return p;
		if ((uintptr_t)p < (uintptr_t)-4095)
			fm_sys_munmap(p, len); /* took it as a mere hint */
		else if (p != (void *)-(intptr_t)EEXIST)
			return p;
		atomic_fetch_add(&taken, 1ull << 30);
	}
	return fm_sys_mmap(NULL, len, prot, FLAGS, -1, 0);
}

FM_FAULT bool fm_sys_is_far(uintptr_t addr)
{
	return addr - BASE < SPAN;
}

void *fm_sys_far_map(size_t len, int prot, int flags, int fd, off_t off)
{
	void *far = fm_sys_far(len, PROT_NONE), *p;

	if ((uintptr_t)far >= (uintptr_t)-4095)
		return far;
	p = fm_sys_mmap(far, len, prot, flags | MAP_FIXED, fd, off);
	if ((uintptr_t)p >= (uintptr_t)-4095)
		fm_sys_munmap(far, len);
	return p;
}

FM_FAULT void *fm_sys_anon(size_t len)
{
	void *p = fm_sys_far(len, PROT_READ | PROT_WRITE);

	return (uintptr_t)p >= (uintptr_t)-4095 ? NULL : p;
}

/* A filter may kill for madvise(2), and locked pages stay. */
void fm_sys_clear(void *table, size_t len)
{
	char *at = table, *end = at + len;
	char *from = (char *)(((uintptr_t)at + 0xfff) & ~0xfffull);
	char *to = (char *)((uintptr_t)end & ~0xfffull);

	if (from >= to || fm_sys_confined() ||
	    fm_sys_madvise(from, (size_t)(to - from), MADV_DONTNEED)) {
		memset(at, 0, len);
		return;
	}
	memset(at, 0, (size_t)(from - at));
	memset(to, 0, (size_t)(end - to));
}

static FM_FAULT unsigned number_at(const char *p)
{
	unsigned n = 0;

	while (*p >= '0' && *p <= '9')
		n = n * 10 + (unsigned)(*p++ - '0');
	return n;
}

FM_FAULT bool fm_sys_since(unsigned want, unsigned want_minor)
{
	struct utsname u;
	unsigned major;
	const char *p = u.release;

	if (fm_sys1(SYS_uname, &u))
		return false;
	major = number_at(p);
	while (*p && *p != '.')
		p++;
	return major > want ||
	       (major == want && *p && number_at(p + 1) >= want_minor);
}

static _Atomic int8_t known; /* fine times? 0 not yet, else no or yes */

static _Atomic int confined, filters, filters_beside; /* the main thread */
static _Atomic int filters_all; /* threads */
static void *main_thread; /* its thread pointer: to be had without a call */

__attribute__((constructor)) static void remember_main(void)
{
	main_thread = __builtin_thread_pointer();
}

void fm_sys_confine(int by)
{
	atomic_fetch_add(&confined, by);
}

void fm_sys_filter(int by, enum fm_filter kind)
{
	atomic_fetch_add(&filters, by);
	if (kind == FM_FILTER_ALL)
		atomic_fetch_add(&filters_all, by);
	if (kind == FM_FILTER_ONE &&
	    __builtin_thread_pointer() != main_thread)
		atomic_fetch_add(&filters_beside, by);
}

#define STATX_BORN 0x800u /* ABI: STATX_BTIME */

/* The claim of a process that outlives a deleted file must not meet the next
 * file that gets its inode number. */
uint64_t fm_sys_birth(int fd)
{
	struct statx sx;

	if (fm_sys5(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BORN, &sx) ||
	    !(sx.stx_mask & STATX_BORN))
		return 0;
	return (uint64_t)sx.stx_btime.tv_sec * 1000000000u +
	       sx.stx_btime.tv_nsec;
}

static FM_FAULT int ask_clock(clockid_t clock, struct timespec *ret)
{
	return (int)fm_sys2(SYS_clock_gettime, clock, ret);
}

static fm_clock_fn *libcs_clock = ask_clock;

FM_FAULT int fm_clock(clockid_t clock, struct timespec *ret)
{
	return libcs_clock(clock, ret);
}

void fm_clock_found(fm_clock_fn *libcs)
{
	libcs_clock = libcs;
}

FM_FAULT void fm_sys_sleep_us(uint64_t us)
{
	static _Atomic uint32_t never;
	const struct timespec ts = { (time_t)(us / 1000000),
				     (long)(us % 1000000) * 1000 };

	fm_futex_wait(&never, 0, &ts);
}

FM_FAULT bool fm_sys_all_filtered(void)
{
	return atomic_load_explicit(&filters_all, memory_order_relaxed) > 0;
}

FM_FAULT bool fm_sys_confined(void)
{
	return atomic_load(&confined) > 0;
}

/* The main thread is nobody's child, and inherits no filter. */
FM_FAULT bool fm_sys_may_ask(void)
{
	const int n = atomic_load(&filters);

	return n <= 0 || (n == atomic_load(&filters_beside) &&
			  __builtin_thread_pointer() == main_thread);
}

FM_FAULT bool fm_sys_fine_times(void)
{
	if (!atomic_load_explicit(&known, memory_order_relaxed))
		atomic_store_explicit(&known, fm_sys_since(6, 13) ? 2 : 1,
				      memory_order_relaxed);
	return atomic_load_explicit(&known, memory_order_relaxed) == 2;
}

#define LOOK                                                          \
	(STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO | STATX_SIZE |   \
	 STATX_BLOCKS)

/* As the kernel's stat(2) has it. */
static FM_FAULT dev_t device(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | (dev_t)major << 8 |
	       (dev_t)(minor & ~0xffu) << 12;
}

FM_FAULT int fm_sys_stat_notimes(int fd, struct stat *st)
{
	struct statx sx;

	if (!fm_sys_fine_times() || atomic_load(&confined) ||
	    fm_sys5(SYS_statx, fd, "", AT_EMPTY_PATH, LOOK, &sx) ||
	    (sx.stx_mask & LOOK) != LOOK)
		return fm_sys_fstat(fd, st);
	st->st_mode = sx.stx_mode;
	st->st_uid = sx.stx_uid;
	st->st_dev = device(sx.stx_dev_major, sx.stx_dev_minor);
	st->st_ino = sx.stx_ino;
	st->st_size = (off_t)sx.stx_size;
	st->st_blocks = (blkcnt_t)sx.stx_blocks;
	return 0;
}

/* Without a flag sync_file_range(2) looks whether its file has pages, and does
 * nothing. A filter may end who calls it. */
FM_FAULT bool fm_sys_is_stream(int fd)
{
	return fm_sys_may_ask() &&
	       fm_sys4(SYS_sync_file_range, fd, 0, 0, 0) == -ESPIPE;
}

#define WHICH (STATX_TYPE | STATX_INO)
#define WHOSE (WHICH | STATX_MODE | STATX_UID)

/* A network file system may know some of it only. */
static FM_FAULT int sys_which(int dir, const char *path, int flags,
			      unsigned mask, struct stat *st)
{
	struct statx sx;
	int err = (int)fm_sys5(SYS_statx, dir, path,
			       flags | AT_STATX_DONT_SYNC, mask, &sx);

	if (!err && (sx.stx_mask & mask) != mask)
		err = -ENOTSUP;
	st->st_mode = err ? 0 : sx.stx_mode;
	st->st_uid = err ? 0 : sx.stx_uid;
	st->st_dev = err ? 0 : device(sx.stx_dev_major, sx.stx_dev_minor);
	st->st_ino = err ? 0 : sx.stx_ino;
	return err;
}

FM_FAULT int fm_sys_which(int fd, struct stat *st)
{
	return sys_which(fd, "", AT_EMPTY_PATH, WHICH, st);
}

FM_FAULT int fm_sys_whose(int fd, struct stat *st)
{
	return sys_which(fd, "", AT_EMPTY_PATH, WHOSE, st);
}

FM_FAULT int fm_sys_which_at(const char *path, struct stat *st)
{
	return atomic_load(&confined) ? fm_sys_stat(path, st) :
					sys_which(AT_FDCWD, path, 0, WHICH, st);
}

#define MOUNTED 0x1000u /* ABI: STATX_MNT_ID, Linux 5.8 */

uint64_t fm_sys_mount_id(const char *path, dev_t dev, ino_t ino)
{
	struct statx sx;

	if (atomic_load(&confined) ||
	    fm_sys5(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC,
		    STATX_INO | MOUNTED, &sx) ||
	    !(sx.stx_mask & MOUNTED) || sx.stx_ino != ino ||
	    device(sx.stx_dev_major, sx.stx_dev_minor) != dev)
		return 0;
	return sx.stx_mnt_id;
}

FM_FAULT long fm_sys_clone_on(long flags, char *top, void (*fn)(void *),
			      void *arg, _Atomic uint32_t *tid, void *tls)
{
	return fm_arch_clone(flags, top, fn, arg, tid, tls);
}

long fm_sys_read_all(int fd, void *buf, size_t size)
{
	size_t n = 0;

	while (n < size) {
		long r = fm_sys_pread(fd, (char *)buf + n, size - n, (off_t)n);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (long)n;
}

int fm_sys_write_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;

	while (len) {
		long r = fm_sys3(SYS_write, fd, at, len);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return r ? (int)r : -EIO;
		at += r;
		len -= (size_t)r;
	}
	return 0;
}

bool fm_sys_sees_cache(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	if (fm_sys_stat(path, &st) ||
	    st.st_dev != dev || st.st_ino != ino)
		return false;
	return st.st_uid == (uid_t)fm_sys0(SYS_geteuid) ||
	       !fm_sys4(SYS_faccessat2, AT_FDCWD, path, W_OK, AT_EACCESS);
}
