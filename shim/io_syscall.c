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
#include <sys/sendfile.h>

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

/* ---- the hooks ---------------------------------------------------------- */

#define P(x) x
#define HOOKED_IO FM_DO_HOOK
#define ALIAS_IO FM_DO_ALIAS
#include "entered.def"
#undef P

/* ---- syscall() ---------------------------------------------------------- */

/* -2: none of these. */
static long io_syscall_entered(long nr, long a, long b, long c, long d, long e,
			       long f)
{
	switch (nr) {
#define P(x) ((void *)(x))
#define HOOKED_IO FM_DO_CASE
#define ENTER_IO FM_ENTER_CASE
#include "entered.def"
	}
	return -2;
}

long fm_syscall_io(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = io_syscall_entered(nr, a, b, c, d, e, f);

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
