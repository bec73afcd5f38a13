/* SPDX-License-Identifier: MIT */
/*
 * syscall.c - libc's syscall() with a number that we interpose under its own
 * name. entry.S jumps here for the numbers in the table, and makes every other
 * call itself. Inline system call instructions cannot be seen by anybody.
 */
#include "shim.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Not in every unistd.h; the hook is ours in any case. */
extern int close_range(unsigned int first, unsigned int last, int flags);
/* io_open.c */
extern long fm_openat2(int dirfd, const char *path, const void *how,
		       size_t size) __attribute__((weak));
/* io_net.c */
extern long fm_syscall_send(long nr, long fd, void *v, long n, long flags)
	__attribute__((weak));
/* syscall_object.c */
extern long fm_syscall_object(long nr, long a, long b, long c, long d, long e)
	__attribute__((weak));

/* Read by entry.S. */
__attribute__((visibility("hidden"))) unsigned char fm_syscall_hooked[512] = {
	[SYS_mmap] = 1,	     [SYS_munmap] = 1,	 [SYS_msync] = 1,
	[SYS_madvise] = 1,   [SYS_mremap] = 1,	 [SYS_mprotect] = 1,
	[SYS_mincore] = 1,   [SYS_mlock] = 1,	 [SYS_munlock] = 1,
	[SYS_close_range] = 1, [SYS_close] = 1,	 [SYS_read] = 1,
	[SYS_write] = 1,     [SYS_pread64] = 1,	 [SYS_pwrite64] = 1,
	[SYS_readv] = 1,     [SYS_writev] = 1,	 [SYS_fsync] = 1,
	[SYS_fdatasync] = 1, [SYS_ftruncate] = 1, [SYS_fallocate] = 1,
	[SYS_mlockall] = 1,  [SYS_munlockall] = 1, [SYS_preadv] = 1,
	[SYS_pwritev] = 1,   [SYS_preadv2] = 1,	 [SYS_pwritev2] = 1,
	[SYS_truncate] = 1,  [SYS_sync] = 1,	 [SYS_syncfs] = 1,
	[SYS_sync_file_range] = 1, [SYS_sendfile] = 1, [SYS_splice] = 1,
	[SYS_copy_file_range] = 1, [SYS_getrandom] = 1, [SYS_futex] = 1,
	[SYS_setrlimit] = 1, [SYS_prlimit64] = 1, [SYS_mlock2] = 1,
	[SYS_remap_file_pages] = 1, [SYS_pkey_mprotect] = 1,
	[SYS_open] = 1,	     [SYS_openat] = 1,	 [SYS_openat2] = 1,
	[SYS_creat] = 1,     [SYS_vmsplice] = 1, [SYS_newfstatat] = 1,
	[SYS_process_vm_readv] = 1, [SYS_process_vm_writev] = 1,
	[SYS_process_madvise] = 1, [SYS_sigaltstack] = 1,
	[SYS_prctl] = 1,     [SYS_seccomp] = 1,	 [SYS_sendmsg] = 1,
	[SYS_sendmmsg] = 1,  [SYS_lseek] = 1,	 [SYS_mseal] = 1,
	/* syscall_object.c */
	[SYS_ioctl] = 1,     [SYS_getdents] = 1, [SYS_getdents64] = 1,
	[SYS_getcwd] = 1,    [SYS_readlink] = 1, [SYS_readlinkat] = 1,
	[SYS_getxattr] = 1,  [SYS_lgetxattr] = 1, [SYS_fgetxattr] = 1,
	[SYS_listxattr] = 1, [SYS_llistxattr] = 1, [SYS_flistxattr] = 1,
	[SYS_setxattr] = 1,  [SYS_lsetxattr] = 1, [SYS_fsetxattr] = 1,
	[SYS_stat] = 1,	     [SYS_lstat] = 1,	 [SYS_fstat] = 1,
	[SYS_statx] = 1,     [SYS_statfs] = 1,	 [SYS_fstatfs] = 1,
	/* Only when fm_syscall_forks says so: */
	[SYS_fork] = 2,	     [SYS_clone] = 2,	 [SYS_clone3] = 2,
};

long fm_syscall_hook(long nr, long a, long b, long c, long d, long e, long f);
long fm_syscall_error(long r);

__attribute__((used, visibility("hidden"))) long fm_syscall_error(long r)
{
	return fm_result(r);
}

static void *pointer(long a)
{
	return (void *)a;
}

/* The I/O names are hooks as well (or libc's, when they are not). They are
 * cancellation points, which the system call is not: only when it matters. */
static long io_call(long nr, long a, long b, long c, long d)
{
	switch (nr) {
	case SYS_read:
		return read((int)a, pointer(b), (size_t)c);
	case SYS_write:
		return write((int)a, pointer(b), (size_t)c);
	case SYS_pread64:
		return pread((int)a, pointer(b), (size_t)c, d);
	case SYS_pwrite64:
		return pwrite((int)a, pointer(b), (size_t)c, d);
	case SYS_readv:
		return readv((int)a, pointer(b), (int)c);
	case SYS_writev:
		return writev((int)a, pointer(b), (int)c);
	case SYS_lseek:
		return lseek((int)a, b, (int)c);
	case SYS_fsync:
		return fsync((int)a);
	case SYS_fdatasync:
		return fdatasync((int)a);
	case SYS_ftruncate:
		return ftruncate((int)a, b);
	case SYS_fallocate:
		return fallocate((int)a, (int)b, c, d);
	case SYS_truncate:
		return truncate(pointer(a), b);
	case SYS_syncfs:
		return syncfs((int)a);
	case SYS_sync_file_range:
		return sync_file_range((int)a, b, c, (unsigned)d);
	case SYS_sync:
		sync();
		return 0;
	}
	return -2;
}

/* Whether it truncates, and what, the hooks find out. They read a mode only
 * when the flags ask for one. */
static long open_call(long nr, long a, long b, long c, long d)
{
	switch (nr) {
	case SYS_open:
		return open(pointer(a), (int)b, (mode_t)c);
	case SYS_openat:
		return openat((int)a, pointer(b), (int)c, (mode_t)d);
	case SYS_creat:
		return creat(pointer(a), (mode_t)b);
	case SYS_openat2:
		return fm_openat2 ? fm_openat2((int)a, pointer(b), pointer(c),
					       (size_t)d) : -2;
	case SYS_newfstatat:
		return fm_overlaps(pointer(c), sizeof(struct stat)) ||
				       fm_overlaps(pointer(b), 1) ?
			       fstatat((int)a, pointer(b), pointer(c), (int)d) :
			       -2;
	}
	return -2;
}

/* More arguments, or rarer. -2: none of these. */
static long copy_call(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case SYS_preadv:
		return preadv((int)a, pointer(b), (int)c, d);
	case SYS_pwritev:
		return pwritev((int)a, pointer(b), (int)c, d);
	case SYS_preadv2: /* e: the upper half of the offset, unused here */
		return preadv2((int)a, pointer(b), (int)c, d, (int)f);
	case SYS_pwritev2:
		return pwritev2((int)a, pointer(b), (int)c, d, (int)f);
	case SYS_sendfile:
		return sendfile((int)a, (int)b, pointer(c), (size_t)d);
	case SYS_splice:
		return splice((int)a, pointer(b), (int)c, pointer(d),
			      (size_t)e, (unsigned)f);
	case SYS_copy_file_range:
		return copy_file_range((int)a, pointer(b), (int)c, pointer(d),
				       (size_t)e, (unsigned)f);
	case SYS_vmsplice:
		return vmsplice((int)a, pointer(b), (size_t)c, (unsigned)d);
	case SYS_process_vm_readv:
		return process_vm_readv((pid_t)a, pointer(b), (unsigned long)c,
					pointer(d), (unsigned long)e,
					(unsigned long)f);
	case SYS_process_vm_writev:
		return process_vm_writev((pid_t)a, pointer(b), (unsigned long)c,
					 pointer(d), (unsigned long)e,
					 (unsigned long)f);
	case SYS_setrlimit:
		return setrlimit((__rlimit_resource_t)a, pointer(b));
	case SYS_prlimit64:
		return prlimit((pid_t)a, (enum __rlimit_resource)b, pointer(c),
			       pointer(d));
	case SYS_getrandom:
		return getrandom(pointer(a), (size_t)b, (unsigned)c);
	}
	return -2;
}

/* The kernel may look at a futex at any time while somebody waits. */
static void give_up_futex(long a, long op, long e)
{
	const int cmd = op & 127;

	if (fm_overlaps(pointer(a), 4))
		fm_demote_range(pointer(a), 4, "futex");
	if ((cmd == FUTEX_REQUEUE || cmd == FUTEX_CMP_REQUEUE ||
	     cmd == FUTEX_WAKE_OP) && fm_overlaps(pointer(e), 4))
		fm_demote_range(pointer(e), 4, "futex");
}

/* These look for themselves whether the engine is concerned. -2: none. */
static long memory_call(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case SYS_mmap:
		return (long)mmap(pointer(a), (size_t)b, (int)c, (int)d,
				  (int)e, f);
	case SYS_munmap:
		return munmap(pointer(a), (size_t)b);
	case SYS_msync:
		return msync(pointer(a), (size_t)b, (int)c);
	case SYS_madvise:
		return madvise(pointer(a), (size_t)b, (int)c);
	case SYS_mremap:
		return (long)mremap(pointer(a), (size_t)b, (size_t)c, (int)d,
				    pointer(e));
	case SYS_mprotect:
		return mprotect(pointer(a), (size_t)b, (int)c);
	case SYS_pkey_mprotect:
		return pkey_mprotect(pointer(a), (size_t)b, (int)c, (int)d);
	case SYS_remap_file_pages:
		return remap_file_pages(pointer(a), (size_t)b, (int)c,
					(size_t)d, (int)e);
	case SYS_process_madvise:
		return process_madvise((int)a, pointer(b), (size_t)c, (int)d,
				       (unsigned)e);
	case SYS_sigaltstack:
		return sigaltstack(pointer(a), pointer(b));
	case SYS_mincore:
		return mincore(pointer(a), (size_t)b, pointer(c));
	case SYS_mlock:
		return mlock(pointer(a), (size_t)b);
	case SYS_prctl:
		return prctl((int)a, b, c, d, e);
	case SYS_seccomp:
		if (a > 1) /* neither a mode nor a filter */
			return fm_result(fm_sys3(SYS_seccomp, a, b, c));
		fm_confine(pointer(c));
		return fm_result(fm_confined(fm_sys3(SYS_seccomp, a, b, c)));
	case SYS_mlock2:
		return mlock2(pointer(a), (size_t)b, (unsigned)c);
	case SYS_mseal:
		return mseal(pointer(a), (size_t)b, (unsigned long)c);
	case SYS_munlock:
		return munlock(pointer(a), (size_t)b);
	case SYS_mlockall:
		return mlockall((int)a);
	case SYS_munlockall:
		return munlockall();
	}
	return -2;
}

__attribute__((used, visibility("hidden"))) long
fm_syscall_hook(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = memory_call(nr, a, b, c, d, e, f);

	if (r != -2)
		return r;
	switch (nr) {
	case SYS_close_range:
		return close_range((unsigned int)a, (unsigned int)b, (int)c);
	case SYS_close:
		return close((int)a);
	case SYS_sendmsg:
	case SYS_sendmmsg:
		if (fm_syscall_send)
			return fm_syscall_send(nr, a, pointer(b), c, d);
		break;
	case SYS_fork:
	case SYS_clone:
	case SYS_clone3:
		return fm_syscall_fork(nr, a, b, c, d, e);
	}
	if (fm_active() || fm_on()) {
		r = io_call(nr, a, b, c, d);
		if (r == -2)
			r = open_call(nr, a, b, c, d);
		if (r == -2)
			r = copy_call(nr, a, b, c, d, e, f);
		if (r == -2 && fm_syscall_object)
			r = fm_syscall_object(nr, a, b, c, d, e);
		if (r != -2)
			return r;
		if (nr == SYS_futex)
			give_up_futex(a, b, e);
	}
	return fm_result(fm_sys6(nr, a, b, c, d, e, f));
}
