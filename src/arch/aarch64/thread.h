/* SPDX-License-Identifier: MIT */
/* thread.h - threads without libc, and what the processor knows of them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* [any] clone(2), then fn(arg) in the new one, on the stack that ends at `top`
 * (16 bytes); when it returns that one exits. The kernel's answer to the one
 * that calls. (Here the thread pointer comes before the child's tid.) */
static inline __attribute__((always_inline)) long
fm_arch_clone(long flags, char *top, void (*fn)(void *), void *arg,
	      _Atomic uint32_t *tid, void *tls)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = flags;
	register char *x1 __asm__("x1") = top - 16;
	register void *x2 __asm__("x2") = tid;
	register void *x3 __asm__("x3") = tls;
	register void *x4 __asm__("x4") = tid;

	((void **)x1)[0] = (void *)fn;
	((void **)x1)[1] = arg;
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x30, #0\n\t"
			 "ldp x16, x0, [sp], #16\n\t"
			 "blr x16\n\t"
			 "mov x0, #0\n\t"
			 "mov x8, #93\n\t"
			 "svc #0\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory", "cc", "x16");
	return x0;
}

/* [any] Thread-local variables lie above it (variant I). */
static inline uintptr_t fm_arch_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* [any] Does arch_prctl(2) store a word for this? */
static inline bool fm_arch_prctl_fills(long code)
{
	return (void)code, false;
}

/* [plain] Valgrind's client request 0x1001 (RUNNING_ON_VALGRIND); on a
 * processor the rotations add up to nothing. */
static inline bool fm_arch_on_valgrind(void)
{
	volatile uint64_t args[6] = { 0x1001 };
	register uint64_t x3 __asm__("x3") = 0;
	register volatile uint64_t *x4 __asm__("x4") = args;

	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\t"
			 "ror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(x3)
			 : "r"(x4)
			 : "x12", "cc", "memory");
	return x3 != 0;
}
