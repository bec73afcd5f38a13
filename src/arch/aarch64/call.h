/* SPDX-License-Identifier: MIT */
/* call.h - a system call without libc. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#define FM_ARCH_MAP_LOW 0 /* flag of mmap(2): where short addresses reach */

/* [any] The kernel's answer: -4095 to -1 are errors. */
static inline long fm_sys6(long nr, long a, long b, long c, long d, long e,
			   long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
			   "r"(x5)
			 : "memory", "cc");
	return x0;
}

/* [any] poll(2), ms: -1 is for ever. */
static inline int fm_sys_poll(struct pollfd *p, long n, int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	return (int)fm_sys6(SYS_ppoll, (long)p, n, ms < 0 ? 0 : (long)&t, 0, 0,
			    0);
}

/* [any] A hook's, while there is nothing but the kernel behind it: also of calls
 * that the processor lacks. */
static inline long fm_arch_call(long nr, long a, long b, long c, long d, long e,
				long f)
{
	switch (nr) {
	case __NR_open:
		return fm_sys6(SYS_openat, AT_FDCWD, a, b, c, 0, 0);
	case __NR_creat:
		return fm_sys6(SYS_openat, AT_FDCWD, a,
			       O_CREAT | O_WRONLY | O_TRUNC, b, 0, 0);
	case __NR_dup2:
		if (a != b)
			return fm_sys6(SYS_dup3, a, b, 0, 0, 0, 0);
		a = fm_sys6(SYS_fcntl, a, F_GETFD, 0, 0, 0, 0);
		return a < 0 ? a : b;
	case __NR_poll:
		return fm_sys_poll((struct pollfd *)a, b, (int)c);
	default:
		return nr < FM_CALLS ? fm_sys6(nr, a, b, c, d, e, f) : -ENOSYS;
	}
}

/* [any] Of clone(2) with these arguments: where the child's id goes. */
static inline long fm_arch_child_tid(long d, long e)
{
	return (void)d, e;
}

/* [any] In a loop that waits for another processor. */
static inline void fm_arch_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}
