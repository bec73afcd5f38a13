/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls without libc. Everything the engine asks of the kernel
 * goes through here: results are -errno, no cancellation points, no interposed
 * names. [fault], and in the guardian, unless it says more.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/arch.h"

/* Absent from old headers. */
#ifndef MADV_DONTNEED_LOCKED /* Linux 5.18 */
#define MADV_DONTNEED_LOCKED 24 /* ABI: Linux 5.18 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* ABI: Linux 6.1 */
#endif
#ifndef PR_SET_MEMORY_MERGE /* Linux 6.4 */
#define PR_SET_MEMORY_MERGE 67 /* ABI: Linux 6.4 */
#define PR_GET_MEMORY_MERGE 68 /* ABI: Linux 6.4 */
#endif

/* Code that runs in the fault handler. Kept in one section so that
 * tests/checks can prove that it reaches no malloc, stdio or lazy symbol. */
#define FM_FAULT __attribute__((section(".text.fault")))
/* A struct of callbacks that it calls: the same test sees that they are
 * FM_FAULT. */
#define FM_FAULT_CALLS __attribute__((section(".data.fault")))

#define fm_sys0(n) fm_sys6(n, 0, 0, 0, 0, 0, 0)
#define fm_sys1(n, a) fm_sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define fm_sys2(n, a, b) fm_sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define fm_sys3(n, a, b, c) \
	fm_sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define fm_sys4(n, a, b, c, d) \
	fm_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define fm_sys5(n, a, b, c, d, e) \
	fm_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* Is it -errno as a pointer, as the kernel returns it? */
static inline bool fm_is_err(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)-4095;
}

static inline void *fm_sys_mmap(void *addr, size_t len, int prot, int flags,
				int fd, off_t off)
{
	return (void *)fm_sys6(SYS_mmap, (long)addr, (long)len, prot, flags,
			       fd, off);
}

static inline int fm_sys_munmap(void *addr, size_t len)
{
	return (int)fm_sys2(SYS_munmap, addr, len);
}

static inline int fm_sys_mprotect(void *addr, size_t len, int prot)
{
	return (int)fm_sys3(SYS_mprotect, addr, len, prot);
}

static inline int fm_sys_madvise(void *addr, size_t len, int advice)
{
	return (int)fm_sys3(SYS_madvise, addr, len, advice);
}

static inline int fm_sys_close(int fd)
{
	return (int)fm_sys1(SYS_close, fd);
}

static inline int fm_sys_ioctl(int fd, unsigned long req, void *arg)
{
	return (int)fm_sys3(SYS_ioctl, fd, req, arg);
}

/* [any] Is there a filter for all threads, ours as well? Who would open a file
 * may be killed then: nothing is opened any more, which the program would not
 * have done natively either. */
bool fm_sys_all_filtered(void);

static inline int fm_sys_open(const char *path, int flags, int mode)
{
	if (fm_sys_all_filtered())
		return -EPERM;
	return (int)fm_sys4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC,
			    mode);
}

static inline int fm_sys_stat(const char *path, struct stat *st)
{
	return (int)fm_sys4(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static inline int fm_sys_lstat(const char *path, struct stat *st)
{
	return (int)fm_sys4(SYS_newfstatat, AT_FDCWD, path, st,
			    AT_SYMLINK_NOFOLLOW);
}

static inline int fm_sys_unlink(const char *path)
{
	return (int)fm_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
}

static inline int fm_sys_rename(const char *from, const char *to)
{
	return (int)fm_sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static inline int fm_sys_mkdir(const char *path, int mode)
{
	return (int)fm_sys3(SYS_mkdirat, AT_FDCWD, path, mode);
}

static inline long fm_sys_readlink(const char *path, char *buf, size_t size)
{
	return fm_sys4(SYS_readlinkat, AT_FDCWD, path, buf, size);
}

/* As statfs(2) has it, EXT4_SUPER_MAGIC or its like; 0: that is not told. */
static inline long fm_sys_fs_type(int fd)
{
	long fs[16] = { 0 }; /* the type first */

	return fm_sys2(SYS_fstatfs, fd, fs) ? 0 : fs[0];
}

static inline int fm_sys_fstat(int fd, struct stat *st)
{
	return (int)fm_sys2(SYS_fstat, fd, st);
}

/* Does a change of a file whose times have been looked at get a time of its
 * own, on the file systems that can (Linux 6.13)? */
bool fm_sys_fine_times(void);
/* [any] Is this Linux of that version, or newer? */
bool fm_sys_since(unsigned major, unsigned minor);

/* [any] The program confines itself to some system calls (by 1), or did not
 * after all (by -1): fstat(2) is likely to be one of them, statx(2) is not. */
void fm_sys_confine(int by);
bool fm_sys_confined(void);
/* [any] The calling thread, or all, get a filter (by 1), or did not (by -1). A
 * strict one lets nothing pass that brings pages in: no thread may map then
 * what this one could touch. */
enum fm_filter { FM_FILTER_ONE, FM_FILTER_ALL, FM_FILTER_STRICT };
void fm_sys_filter(int by, enum fm_filter kind);
/* [any] Is the calling thread under no filter for sure? */
bool fm_sys_may_ask(void);

/* fstat(2) without the times: mode, owner, device, inode, size and blocks only.
 * With fine times a look at them makes the next write to the file take a new
 * one, and with it a change of the inode. */
int fm_sys_stat_notimes(int fd, struct stat *st);
/* Is it for sure a socket, a pipe, a terminal or the like, no file? Takes
 * a fifth of fstat(2). False: not known. */
bool fm_sys_is_stream(int fd);
/* Device, inode and type, from what is known on this machine: no server is
 * asked, which might not answer. */
int fm_sys_which(int fd, struct stat *st);
/* The same with mode and owner, or -ENOTSUP: these are not known here. */
int fm_sys_whose(int fd, struct stat *st);
/* The same of a path: of what others have open (/proc/PID/fd), which may be on
 * a server that is away. */
int fm_sys_which_at(const char *path, struct stat *st);
/* [any] The number of the mount that the file at path was found on, if it is
 * the one with that device and inode number; or 0. */
uint64_t fm_sys_mount_id(const char *path, dev_t dev, ino_t ino);

/* [any] Is no block device below, by the number that stat shows? Networks and
 * memory have none: the kernel makes one up (major 0). But btrfs and overlayfs
 * show such a one, too, and another in maps. */
static inline bool fm_sys_no_disk(dev_t dev)
{
	return !major(dev);
}

/* [any] When the file of a descriptor was made, in ns, or 0: not known. */
uint64_t fm_sys_birth(int fd);

/* Is fd that file? The number may be another's by now. */
static inline bool fm_sys_is_file(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return !fm_sys_stat_notimes(fd, &st) && st.st_ino == ino &&
	       st.st_dev == dev;
}

/* Is fd without a type, as eventfd, inotify, fanotify, io_uring and userfaultfd
 * are? Then it is no file, pipe or socket that the program has opened under a
 * number of ours. */
static inline bool fm_sys_is_anon(int fd)
{
	struct stat st;

	return fd >= 0 && !fm_sys_stat_notimes(fd, &st) &&
	       !(st.st_mode & S_IFMT);
}

/* [any] Does mincore(2) tell this process which pages of that file are cached?
 * Others than the owner and who may write to it are told that all are. */
bool fm_sys_sees_cache(const char *path, dev_t dev, ino_t ino);

/* Of one MADV_WILLNEED the kernel forgets what lies beyond one read of the
 * device or one read ahead, whichever is longer; this is the default of both,
 * and what may be asked where nothing tells (readahead/fetch.h). */
#define FM_WILLNEED_BYTES ((size_t)128 << 10) /* ABI: the default of both */

static inline ssize_t fm_sys_pread(int fd, void *buf, size_t len, off_t off)
{
	return fm_sys4(SYS_pread64, fd, buf, len, off);
}

static inline ssize_t fm_sys_pwrite(int fd, const void *buf, size_t len,
				    off_t off)
{
	return fm_sys4(SYS_pwrite64, fd, buf, len, off);
}

/* The first `size` bytes of a file, or as many as it has: how many, or -errno.
 * [plain] */
long fm_sys_read_all(int fd, void *buf, size_t size);
/* 0 or -errno. [plain] */
int fm_sys_write_all(int fd, const void *buf, size_t len);

static inline int fm_sys_gettid(void)
{
	return (int)fm_sys0(SYS_gettid);
}

static inline int fm_sys_getpid(void)
{
	return (int)fm_sys0(SYS_getpid);
}

/* A thread of this process has ended: there is none with this number. */
static inline bool fm_sys_ended(int tid)
{
	return fm_sys3(SYS_tgkill, fm_sys_getpid(), tid, 0) == -ESRCH;
}

/* SYS_process_vm_readv or -writev in this process, of n bytes: `there` may be
 * no memory by now, or signal. */
static inline long fm_sys_vm_copy(long call, void *mine, void *there, size_t n)
{
	struct iovec here = { mine, n }, far = { there, n };

	return fm_sys6(call, fm_sys_getpid(), (long)&here, 1, (long)&far, 1,
		       0);
}

/* [any] clone(2) with a function to run on a stack of its own, which ends at
 * top: the process that it makes, or -errno. It ends when fn does, with status
 * 0. */
long fm_sys_clone_on(long flags, char *top, void (*fn)(void *), void *arg,
		     _Atomic uint32_t *tid, void *tls);

/* Anonymous zeroed memory of the engine, away from the program's mappings;
 * NULL when there is none. Not dumped into cores, and never inherited
 * half-alive: fork copies it as usual. */
void *fm_sys_anon(size_t len);
/* [any] Zero a static table without an initial value, or memory of fm_sys_anon.
 * Whole pages are given back, so that what nobody has stored to takes none: in
 * a child of fork each page that is stored to is a copy. */
void fm_sys_clear(void *table, size_t len);
/* fm_sys_anon with a protection; -errno as a pointer. */
void *fm_sys_far(size_t len, int prot);
/* Is it where these are, and nothing of the program's? */
bool fm_sys_is_far(uintptr_t addr);
/* [any] Likewise what mmap(2) makes of flags, fd and off. */
void *fm_sys_far_map(size_t len, int prot, int flags, int fd, off_t off);

static inline int fm_futex_wait(_Atomic uint32_t *word, uint32_t val,
				const struct timespec *timeout)
{
	return (int)fm_sys4(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
			    val, timeout);
}

/* About so long. By futex, for programs that confine themselves to few
 * calls. */
void fm_sys_sleep_us(uint64_t us);

static inline int fm_futex_wake(_Atomic uint32_t *word, int n)
{
	return (int)fm_sys3(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
			    n);
}

/* What was stored before is seen by everyone before anything is loaded after.
 * The thread sanitizer knows no fences. */
static inline void fm_fence(void)
{
#ifdef __SANITIZE_THREAD__
	static _Atomic uint32_t word;

	atomic_fetch_add(&word, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void fm_cpu_relax(void)
{
	fm_arch_relax();
}

/* What is only ever added up. */
static inline void fm_count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static inline uint64_t fm_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* [fault] libc's own clock_gettime, which asks the vDSO, once the constructor
 * has found it (fm_clock_found), and the system call before. Not the public
 * name: who interposes that (libfaketime) tells another time, and takes locks,
 * where we are asked in the middle of a fault. */
int fm_clock(clockid_t clock, struct timespec *ret);
/* [any] Before there are threads of ours. */
typedef int fm_clock_fn(clockid_t clock, struct timespec *ret);
void fm_clock_found(fm_clock_fn *libcs);

static inline uint64_t fm_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	fm_clock(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t fm_now_ns(void)
{
	return fm_clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of this thread. */
static inline uint64_t fm_cpu_ns(void)
{
	return fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t fm_now_ms(void)
{
	return fm_now_ns() / 1000000u;
}
