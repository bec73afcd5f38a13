/* SPDX-License-Identifier: MIT */
/* thread.h - threads without libc, and what the processor knows of them. */
#pragma once

#include <asm/prctl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* [any] clone(2), then fn(arg) in the new one, on the stack that ends at `top`
 * (16 bytes); when it returns that one exits. The kernel's answer to the one
 * that calls. */
static inline __attribute__((always_inline)) long
fm_arch_clone(long flags, char *top, void (*fn)(void *), void *arg,
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

/* [any] Thread-local variables lie below it (variant II). */
static inline uintptr_t fm_arch_thread_pointer(void)
{
	uintptr_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* [any] Does arch_prctl(2) store a word for this? */
static inline bool fm_arch_prctl_fills(long code)
{
	return code == ARCH_GET_FS || code == ARCH_GET_GS;
}

/* [plain] Valgrind's client request 0x1001 (RUNNING_ON_VALGRIND); on a
 * processor the rotations add up to nothing. */
static inline bool fm_arch_on_valgrind(void)
{
	volatile uint64_t args[6] = { 0x1001 };
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(args)
			 : "rdi", "cc", "memory");
	return result != 0;
}
