/* SPDX-License-Identifier: MIT */
/*
 * sigjump.c - jumps that restore a signal mask. A SIGBUS handler that leaves
 * by siglongjmp unblocks SIGBUS that way: the thread's view must follow. The
 * saved mask is the kernel's, in which SIGBUS is never set, so a jump always
 * ends with "not blocked"; without a saved mask nothing changes, as in libc.
 */
#include "shim.h"

#include <setjmp.h>
#include <ucontext.h>

extern void __longjmp_chk(struct __jmp_buf_tag env[1], int val)
	__attribute__((noreturn));

FM_NEXT(longjmp)
FM_NEXT(_longjmp)
FM_NEXT(siglongjmp)
FM_NEXT(__longjmp_chk)
FM_NEXT(setcontext)
FM_NEXT(swapcontext)

static void sigjump_follow(const struct __jmp_buf_tag *env)
{
	if (fm_on() && env->__mask_was_saved)
		fm_view_set(env->__saved_mask.__val[0] & FM_BUS_BIT);
}

FM_HOOK void longjmp(struct __jmp_buf_tag env[1], int val)
{
	sigjump_follow(env);
	FM_LATE(longjmp)(env, val);
	__builtin_unreachable();
}

FM_HOOK void _longjmp(struct __jmp_buf_tag env[1], int val)
{
	sigjump_follow(env);
	FM_LATE(_longjmp)(env, val);
	__builtin_unreachable();
}

FM_HOOK void siglongjmp(sigjmp_buf env, int val)
{
	sigjump_follow(env);
	FM_LATE(siglongjmp)(env, val);
	__builtin_unreachable();
}

FM_HOOK void __longjmp_chk(struct __jmp_buf_tag env[1], int val)
{
	sigjump_follow(env);
	FM_LATE(__longjmp_chk)(env, val);
	__builtin_unreachable();
}

/* The program may have put SIGBUS into uc_sigmask (sigfillset). */
static void enter_mask(const ucontext_t *to)
{
	sigset_t mask;
	bool bus;

	if (!fm_mask_read(&mask, &to->uc_sigmask))
		return; /* libc's EFAULT */
	bus = mask.__val[0] & FM_BUS_BIT;
	if (bus)
		((ucontext_t *)(uintptr_t)to)->uc_sigmask.__val[0] &=
			~FM_BUS_BIT;
	fm_view_set(bus);
}

FM_HOOK int setcontext(const ucontext_t *to)
{
	if (fm_on())
		enter_mask(to);
	return FM_LATE(setcontext)(to);
}

/* The saved context resumes inside this wrapper, whose frame is alive then:
 * it belongs to the context that is being left. Its view comes back too. */
FM_HOOK int swapcontext(ucontext_t *from, const ucontext_t *to)
{
	bool was;
	int r;

	if (!fm_on())
		return FM_LATE(swapcontext)(from, to);
	was = fm_view_blocked();
	enter_mask(to);
	r = FM_LATE(swapcontext)(from, to);
	fm_view_set(was);
	return r;
}
