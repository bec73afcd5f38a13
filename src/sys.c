/* SPDX-License-Identifier: MIT */
#include "sys.h"

#include "lock.h"

/*
 * Engine memory lives far from where the kernel puts mappings by itself. A
 * program that unmaps memory and maps the hole again with MAP_FIXED, or unmaps
 * a range that has holes, relies on nobody else having mapped anything there
 * meanwhile; the engine maps at any time, in the middle of its loads.
 *
 * Only io_uring's own memory stays where the kernel puts it, which takes no
 * address for it.
 *
 * Above the bottom-up area and what sanitizers use, below where PIE programs
 * and the top-down area begin. The kernel refuses what is taken.
 */
#define BASE 0x480000000000ull
#define SPAN 0x080000000000ull
#define TRIES 64
#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static _Atomic uint64_t used;

_Thread_local bool fm_signals_blocked;

FM_FAULT void *fm_sys_far(size_t len, int prot)
{
	uint64_t size = (len + 0xfffu) & ~0xfffull;
	void *p;

	for (int i = 0; i < TRIES; i++) {
		uint64_t at = atomic_fetch_add(&used, size) % SPAN;

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
		atomic_fetch_add(&used, 1ull << 30);
	}
	return fm_sys_mmap(NULL, len, prot, FLAGS, -1, 0);
}

FM_FAULT void *fm_sys_anon(size_t len)
{
	void *p = fm_sys_far(len, PROT_READ | PROT_WRITE);

	return (uintptr_t)p >= (uintptr_t)-4095 ? NULL : p;
}

long fm_sys_clone_on(long flags, char *top, void (*fn)(void *), void *arg,
		     _Atomic uint32_t *tid, void *tls)
{
	long ret;
	register void *r10 __asm__("r10") = tid;
	register void *r8 __asm__("r8") = tls;

	top -= 16;
	((void **)top)[0] = (void *)fn;
	((void **)top)[1] = arg;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "pop %%rdi\n\t"
			 "call *%%rax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov $60, %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone), "D"(flags), "S"(top), "d"(tid),
			   "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}
