/* SPDX-License-Identifier: MIT */
/* call.h - a system call without libc. */
#pragma once

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FM_ARCH_MAP_LOW MAP_32BIT /* flag of mmap(2): where short addresses reach */

/* [any] The kernel's answer: -4095 to -1 are errors. */
static inline long fm_sys6(long nr, long a, long b, long c, long d, long e,
			   long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* [any] A hook's, while there is nothing but the kernel behind it: also of calls
 * that the processor lacks. */
#define fm_arch_call fm_sys6

/* [any] Of clone(2) with these arguments: where the child's id goes. */
static inline long fm_arch_child_tid(long d, long e)
{
	return (void)e, d;
}

/* [any] poll(2), ms: -1 is for ever. */
static inline int fm_sys_poll(struct pollfd *p, long n, int ms)
{
	return (int)fm_sys6(SYS_poll, (long)p, n, ms, 0, 0, 0);
}

/* [any] In a loop that waits for another processor. */
static inline void fm_arch_relax(void)
{
	__builtin_ia32_pause();
}
