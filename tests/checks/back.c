/* SPDX-License-Identifier: MIT */
/*
 * back.c - a library that interposes what we interpose, and makes each call by
 * libc's syscall(), as allocators do (gperftools' tcmalloc for mmap). Preloaded
 * before us, behind us, and linked to the program (interposers).
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Declared elsewhere with types of their own; by number they are all the
 * same. */
#define BACK(name, nr)                                                     \
	long back_##name(long a, long b, long c, long d, long e, long f)   \
		__asm__(#name);                                            \
	long back_##name(long a, long b, long c, long d, long e, long f)   \
	{                                                                  \
		return syscall(nr, a, b, c, d, e, f);                      \
	}
/* Whose result is an int: no caller looks at more. */
BACK(mmap, SYS_mmap)
BACK(mmap64, SYS_mmap)
BACK(munmap, SYS_munmap)
BACK(mremap, SYS_mremap)
BACK(msync, SYS_msync)
BACK(madvise, SYS_madvise)
BACK(mprotect, SYS_mprotect)
BACK(mincore, SYS_mincore)
BACK(mlock, SYS_mlock)
BACK(munlock, SYS_munlock)
BACK(mlockall, SYS_mlockall)
BACK(munlockall, SYS_munlockall)
BACK(remap_file_pages, SYS_remap_file_pages)
BACK(close, SYS_close)
BACK(close_range, SYS_close_range)
BACK(read, SYS_read)
BACK(write, SYS_write)
BACK(pread, SYS_pread64)
BACK(pread64, SYS_pread64)
BACK(pwrite, SYS_pwrite64)
BACK(pwrite64, SYS_pwrite64)
BACK(readv, SYS_readv)
BACK(writev, SYS_writev)
BACK(preadv, SYS_preadv)
BACK(pwritev, SYS_pwritev)
BACK(lseek, SYS_lseek)
BACK(lseek64, SYS_lseek)
BACK(fsync, SYS_fsync)
BACK(fdatasync, SYS_fdatasync)
BACK(ftruncate, SYS_ftruncate)
BACK(ftruncate64, SYS_ftruncate)
BACK(truncate, SYS_truncate)
BACK(fallocate, SYS_fallocate)
BACK(syncfs, SYS_syncfs)
BACK(sync_file_range, SYS_sync_file_range)
BACK(sendfile, SYS_sendfile)
BACK(splice, SYS_splice)
BACK(copy_file_range, SYS_copy_file_range)
BACK(vmsplice, SYS_vmsplice)
BACK(getrandom, SYS_getrandom)
BACK(open, SYS_open)
BACK(open64, SYS_open)
BACK(openat, SYS_openat)
BACK(openat64, SYS_openat)
BACK(creat, SYS_creat)
BACK(process_vm_readv, SYS_process_vm_readv)
BACK(process_vm_writev, SYS_process_vm_writev)
BACK(sigaltstack, SYS_sigaltstack)
BACK(prctl, SYS_prctl)
BACK(setrlimit, SYS_setrlimit)
BACK(prlimit, SYS_prlimit64)
BACK(sendmsg, SYS_sendmsg)
BACK(sendmmsg, SYS_sendmmsg)
BACK(fstatat, SYS_newfstatat)
