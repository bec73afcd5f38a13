/* SPDX-License-Identifier: MIT */
/*
 * io_syscall.c - libc's syscall() with the number of a call that moves file
 * data or hands memory to the kernel. What is not concerned goes straight to
 * the kernel: the hooks are cancellation points, which the system call is not.
 */
#include "guard.h"
#include "handed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

/* io_open.c */
extern long fm_openat2(int dirfd, const char *path, const void *how,
		       size_t size);

/* io_async.c */
extern long fm_syscall_async(long nr, long a, long b, long c, long d, long e);
/* call_keys.c */
extern long fm_syscall_keyctl(long a, long b, long c, long d, long e);
/* call_copy.c */
extern long fm_syscall_object(long nr, long a, long b, long c, long d, long e,
			      long f);

long fm_syscall_io(long nr, long a, long b, long c, long d, long e, long f);

static void *pointer(long a)
{
	return (void *)a;
}

/* -2: none of these. */
static long io_call(long nr, long a, long b, long c, long d)
{
	switch (nr) {
	case SYS_read:
		return fm_do_read(true, (int)a, pointer(b), (size_t)c);
	case SYS_write:
		return fm_do_write(true, (int)a, pointer(b), (size_t)c);
	case SYS_pread64:
		return fm_do_pread(true, (int)a, pointer(b), (size_t)c, d);
	case SYS_pwrite64:
		return fm_do_pwrite(true, (int)a, pointer(b), (size_t)c, d);
	case SYS_readv:
		return fm_do_readv(true, (int)a, pointer(b), (int)c);
	case SYS_writev:
		return fm_do_writev(true, (int)a, pointer(b), (int)c);
	case SYS_lseek:
		return fm_do_lseek(true, (int)a, b, (int)c);
	case SYS_fsync:
		return fm_do_fsync(true, (int)a);
	case SYS_fdatasync:
		return fm_do_fdatasync(true, (int)a);
	case SYS_ftruncate:
		return fm_do_ftruncate(true, (int)a, b);
	case SYS_fallocate:
		return fm_do_fallocate(true, (int)a, (int)b, c, d);
	case SYS_truncate:
		return fm_do_truncate(true, pointer(a), b);
	case SYS_syncfs:
		return fm_do_syncfs(true, (int)a);
	case SYS_sync_file_range:
		return fm_do_sync_file_range(true, (int)a, b, c, (unsigned)d);
	case SYS_sync:
		fm_do_sync(true);
		return 0;
	}
	return -2;
}

/* Whether it truncates, and what, the hooks find out. They read a mode only
 * when the flags ask for one. */
static long open_call(long nr, long a, long b, long c, long d)
{
	switch (nr) {
	case __NR_open:
		return fm_do_open(true, false, AT_FDCWD, pointer(a), (int)b,
				  (mode_t)c);
	case SYS_openat:
		return fm_do_open(true, true, (int)a, pointer(b), (int)c,
				  (mode_t)d);
	case __NR_creat:
		return fm_do_creat(true, pointer(a), (mode_t)b);
	case SYS_openat2:
		return fm_openat2((int)a, pointer(b), pointer(c), (size_t)d);
	}
	return -2;
}

static long message_call(long nr, long a, long b, long c, long d, long e)
{
	switch (nr) {
	case SYS_sendmsg:
		return fm_do_sendmsg(true, (int)a, pointer(b), (int)c);
	case SYS_sendmmsg:
		return fm_do_sendmmsg(true, (int)a, pointer(b), (unsigned)c,
				      (int)d);
	case SYS_recvmsg:
		return fm_do_recvmsg(true, (int)a, pointer(b), (int)c);
	case SYS_recvmmsg:
		return fm_do_recvmmsg(true, (int)a, pointer(b), (unsigned)c,
				      (int)d, pointer(e));
	}
	return -2;
}

/* More arguments, or rarer. -2: none of these. */
static long copy_call(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case SYS_preadv:
		return fm_do_preadv(true, (int)a, pointer(b), (int)c, d);
	case SYS_pwritev:
		return fm_do_pwritev(true, (int)a, pointer(b), (int)c, d);
	case SYS_preadv2: /* e: the upper half of the offset, unused here */
		return fm_do_preadv2(true, (int)a, pointer(b), (int)c, d,
				     (int)f);
	case SYS_pwritev2:
		return fm_do_pwritev2(true, (int)a, pointer(b), (int)c, d,
				      (int)f);
	case SYS_sendfile:
		return fm_do_sendfile(true, (int)a, (int)b, pointer(c),
				      (size_t)d);
	case SYS_splice:
		return fm_do_splice(true, (int)a, pointer(b), (int)c,
				    pointer(d), (size_t)e, (unsigned)f);
	case SYS_copy_file_range:
		return fm_do_copy_file_range(true, (int)a, pointer(b), (int)c,
					     pointer(d), (size_t)e,
					     (unsigned)f);
	case SYS_vmsplice:
		return fm_do_vmsplice(true, (int)a, pointer(b), (size_t)c,
				      (unsigned)d);
	case SYS_process_vm_readv:
		return fm_do_process_vm_readv(true, (pid_t)a, pointer(b),
					      (unsigned long)c, pointer(d),
					      (unsigned long)e,
					      (unsigned long)f);
	case SYS_process_vm_writev:
		return fm_do_process_vm_writev(true, (pid_t)a, pointer(b),
					       (unsigned long)c, pointer(d),
					       (unsigned long)e,
					       (unsigned long)f);
	case SYS_ioctl:
		return fm_do_ioctl(true, (int)a, (unsigned long)b, pointer(c));
	case SYS_setrlimit:
		fm_note_limit(0, (int)a, pointer(b));
		break;
	case SYS_prlimit64:
		fm_note_limit((pid_t)a, (int)b, pointer(c));
		break;
	}
	return -2;
}

long fm_syscall_io(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = io_call(nr, a, b, c, d);

	if (r == -2)
		r = open_call(nr, a, b, c, d);
	if (r == -2)
		r = copy_call(nr, a, b, c, d, e, f);
	if (r == -2)
		r = message_call(nr, a, b, c, d, e);
	if (r == -2 && nr == SYS_keyctl)
		r = fm_syscall_keyctl(a, b, c, d, e);
	if (r == -2)
		r = fm_syscall_object(nr, a, b, c, d, e, f);
	if (r == -2)
		r = fm_syscall_async(nr, a, b, c, d, e);
	if (r == -2)
		fm_hand_over(nr, a, b, c, d, e);
	return r;
}
