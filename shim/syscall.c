/* SPDX-License-Identifier: MIT */
/*
 * syscall.c - libc's syscall() with a number that we interpose under its own
 * name. entry.S jumps here for the numbers in the table, and makes every other
 * call itself, as it does all of them while the library is inert. Behind a hook
 * that is entered here is the kernel, as behind libc's syscall(): allocators,
 * which interpose mmap as we do, make their own calls so. Inline system call
 * instructions cannot be seen by anybody.
 */
#include "shim.h"

/* io_syscall.c; -2: not concerned */
extern long fm_syscall_io(long nr, long a, long b, long c, long d, long e,
			  long f) __attribute__((weak));
/* creds.c */
extern long fm_syscall_creds(long nr, long a, long b, long c)
	__attribute__((weak));

/* Read by entry.S. */
__attribute__((visibility("hidden"))) unsigned char fm_syscall_hooked[FM_ROWS] = {
#define CALL(name, ...) [__NR_##name] = 1,
#define NONE(name)
#define LEFT(name, why)
#define OWN(name, where)
#include "calls.def"
	[SYS_mmap] = 1,
	[SYS_munmap] = 1,
	[SYS_msync] = 1,
	[SYS_madvise] = 1,
	[SYS_mremap] = 1,
	[SYS_mprotect] = 1,
	[SYS_mincore] = 1,
	[SYS_mlock] = 1,
	[SYS_munlock] = 1,
	[SYS_close_range] = 1,
	[SYS_close] = 1,
	[SYS_readv] = 1,
	[SYS_writev] = 1,
	[SYS_fsync] = 1,
	[SYS_fdatasync] = 1,
	[SYS_ftruncate] = 1,
	[SYS_fallocate] = 1,
	[SYS_mlockall] = 1,
	[SYS_munlockall] = 1,
	[SYS_preadv] = 1,
	[SYS_pwritev] = 1,
	[SYS_preadv2] = 1,
	[SYS_pwritev2] = 1,
	[SYS_sync] = 1,
	[SYS_syncfs] = 1,
	[SYS_sync_file_range] = 1,
	[SYS_mlock2] = 1,
	[SYS_remap_file_pages] = 1,
	[SYS_pkey_mprotect] = 1,
	[SYS_vmsplice] = 1,
	[SYS_process_vm_readv] = 1,
	[SYS_process_vm_writev] = 1,
	[SYS_process_madvise] = 1,
	[SYS_seccomp] = 1,
	[SYS_execve] = 1,
	[SYS_execveat] = 1,
	[SYS_keyctl] = 1,
	[SYS_unshare] = 1,
	[SYS_setns] = 1,
	[SYS_sendmsg] = 1,
	[SYS_sendmmsg] = 1,
	[SYS_recvmsg] = 1,
	[SYS_recvmmsg] = 1,
	[SYS_lseek] = 1,
	[SYS_mseal] = 1,
	[SYS_shmat] = 1,
	[SYS_shmdt] = 1,
	/* handed.c */
	[SYS_futex] = 1,
	[SYS_kexec_load] = 1,
	[SYS_set_tid_address] = 1,
	[SYS_set_robust_list] = 1,
	[SYS_rseq] = 1,
	[SYS_futex_waitv] = 1,
	[__NR_futex_wake] = 1,
	[__NR_futex_wait] = 1,
	[__NR_futex_requeue] = 1,
	/* io_async.c */
	[SYS_io_setup] = 1,
	[SYS_io_submit] = 1,
	[SYS_io_uring_setup] = 1,
	[SYS_io_cancel] = 1,
	[SYS_io_getevents] = 1,
	[SYS_io_pgetevents] = 1,
	[SYS_ioctl] = 1,
	[SYS_setuid] = 1,
	[SYS_setgid] = 1,
	[SYS_setreuid] = 1,
	[SYS_setregid] = 1,
	[SYS_setresuid] = 1,
	[SYS_setresgid] = 1,
	/* Only when fm_syscall_forks says so: */
	[__NR_vfork] = 2,
	[__NR_fork] = 2,
	[SYS_clone] = 2,
	[SYS_clone3] = 2,
};

FM_TLS unsigned fm_holds;

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

/* These hooks look for themselves whether the engine is concerned. -2: it is
 * none of these. */
static long memory_call(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case SYS_mmap:
		return (long)fm_do_mmap(true, pointer(a), (size_t)b, (int)c,
					(int)d, (int)e, f);
	case SYS_munmap:
		return fm_do_munmap(true, pointer(a), (size_t)b);
	case SYS_msync:
		return fm_do_msync(true, pointer(a), (size_t)b, (int)c);
	case SYS_madvise:
		return fm_do_madvise(true, pointer(a), (size_t)b, (int)c);
	case SYS_mremap:
		return (long)fm_do_mremap(true, pointer(a), (size_t)b,
					  (size_t)c, (int)d, pointer(e));
	case SYS_mprotect:
		return fm_do_mprotect(true, pointer(a), (size_t)b, (int)c);
	case SYS_pkey_mprotect:
		return fm_do_pkey_mprotect(true, pointer(a), (size_t)b, (int)c,
					   (int)d);
	case SYS_remap_file_pages:
		return fm_do_remap_file_pages(true, pointer(a), (size_t)b,
					      (int)c, (size_t)d, (int)e);
	case SYS_process_madvise:
		return fm_do_process_madvise(true, (int)a, pointer(b),
					     (size_t)c, (int)d, (unsigned)e);
	case SYS_sigaltstack:
		return fm_do_sigaltstack(true, pointer(a), pointer(b));
	case SYS_mincore:
		return fm_do_mincore(true, pointer(a), (size_t)b, pointer(c));
	case SYS_mlock:
		return fm_do_mlock(true, pointer(a), (size_t)b);
	case SYS_prctl:
		return fm_do_prctl(true, (int)a,
				   (const unsigned long[]){ (unsigned long)b,
							    (unsigned long)c,
							    (unsigned long)d,
							    (unsigned long)e });
	case SYS_seccomp:
		return fm_syscall_seccomp(a, (unsigned long)b, c);
	case SYS_mlock2:
		return fm_do_mlock2(true, pointer(a), (size_t)b, (unsigned)c);
	case SYS_mseal:
		return fm_do_mseal(true, pointer(a), (size_t)b,
				   (unsigned long)c);
	case SYS_munlock:
		return fm_do_munlock(true, pointer(a), (size_t)b);
	case SYS_mlockall:
		return fm_do_mlockall(true, (int)a);
	case SYS_munlockall:
		return fm_do_munlockall(true);
	case SYS_shmat:
		return (long)fm_do_shmat(true, (int)a, pointer(b), (int)c);
	case SYS_shmdt:
		return fm_do_shmdt(true, pointer(a));
	}
	return -2;
}

__attribute__((used, visibility("hidden"))) long
fm_syscall_hook(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	if (fm_holds)
		return fm_result(fm_sys6(nr, a, b, c, d, e, f));
	r = memory_call(nr, a, b, c, d, e, f);
	if (r != -2)
		return r;
	switch (nr) {
	case SYS_close_range:
		return fm_do_close_range(true, (unsigned int)a, (unsigned int)b,
					 (int)c);
	case SYS_close:
		return fm_do_close(true, (int)a);
	case SYS_execve:
		return fm_do_execve(true, pointer(a), pointer(b), pointer(c));
	case SYS_execveat:
		return fm_do_execveat(true, (int)a, pointer(b), pointer(c),
				      pointer(d), (int)e);
	case SYS_unshare:
		return fm_do_unshare(true, (int)a);
	case SYS_setns:
		return fm_do_setns(true, (int)a, (int)b);
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_capset:
		if (fm_syscall_creds)
			return fm_syscall_creds(nr, a, b, c);
		break;
	case __NR_fork:
	case SYS_clone:
	case SYS_clone3:
		return fm_syscall_fork(nr, a, b, c, d, e);
	}
	if (fm_syscall_io) {
		r = fm_syscall_io(nr, a, b, c, d, e, f);
		if (r != -2)
			return r;
	}
	return fm_result(fm_sys6(nr, a, b, c, d, e, f));
}
