/* SPDX-License-Identifier: MIT */
/* call.h - a system call without libc. */
#ifndef FM_ARCH_CALL_H
#define FM_ARCH_CALL_H

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

/* [any] In a loop that waits for another processor. */
static inline void fm_arch_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#endif
