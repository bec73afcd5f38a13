/* SPDX-License-Identifier: MIT */
/*
 * deliver.c - what happens when SIGBUS arrives. fm_sig_entry (entry.S) calls
 * fm_sig_resolve on a private stack with every signal blocked; what is not
 * the engine's goes to the program as the kernel would have done it.
 */
#include "shim.h"

#include <string.h>
#include <ucontext.h>

#include "sigstack.h"

/* A fault outside managed memory may be a race with an unmap or a demotion
 * that has just ended: run the instruction once more before believing it. */
static FM_TLS struct {
	uintptr_t ip, addr;
} doubted;

static bool believe(const siginfo_t *info, const ucontext_t *uc)
{
	uintptr_t ip = fm_arch_ip(uc);
	uintptr_t addr = (uintptr_t)info->si_addr;

	if (doubted.ip == ip && doubted.addr == addr) {
		doubted.ip = 0;
		return true;
	}
	doubted.ip = ip;
	doubted.addr = addr;
	return false;
}

static void queue_to_self(const siginfo_t *info, int sig)
{
	fm_sys4(SYS_rt_tgsigqueueinfo, fm_sys_getpid(), fm_sys_gettid(), sig,
		info);
}

static void set_default(int sig)
{
	struct fm_ksigaction k = { SIG_DFL, FM_SA_RESTORER, fm_sig_restorer,
				   0 };

	fm_sys4(SYS_rt_sigaction, sig, &k, NULL, 8);
}

/*
 * SIGSEGV is not virtual: queue it with the right siginfo and let the kernel
 * deliver it when our frame is gone, with the registers of the faulting
 * instruction. A synchronous signal that is blocked or ignored kills.
 */
static void raise_segv(const siginfo_t *bus, ucontext_t *uc)
{
	const uint64_t bit = 1ull << (SIGSEGV - 1);
	struct fm_ksigaction k;
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGSEGV;
	info.si_code = SEGV_ACCERR;
	info.si_addr = bus->si_addr;
	fm_sys4(SYS_rt_sigaction, SIGSEGV, NULL, &k, 8);
	if (k.handler == SIG_IGN || (uc->uc_sigmask.__val[0] & bit))
		set_default(SIGSEGV);
	uc->uc_sigmask.__val[0] &= ~bit;
	queue_to_self(&info, SIGSEGV);
}

/* We may be here before the engine has ever started. (Not the same as
 * fm_active(): a child of fork has mappings to be filled in on first touch.) */
static enum fm_fault_result fault(void *addr, const ucontext_t *uc)
{
	return fm_engine_wants_bus() ?
		       fm_fault(addr, fm_arch_stores(uc), fm_arch_ip(uc)) :
		       FM_FAULT_FOREIGN;
}

/* entry.S */
extern const char fm_copy_at[], fm_copy_end[];

/* Is the fault in a copy that may fail (fm_copy_try)? The copy ends there. */
static bool end_copy(ucontext_t *uc)
{
	const uintptr_t ip = fm_arch_ip(uc);

	if (ip < (uintptr_t)fm_copy_at || ip >= (uintptr_t)fm_copy_end)
		return false;
	fm_arch_go_to(uc, (uintptr_t)fm_copy_end);
	return true;
}

int fm_sig_resolve(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const int saved = errno;
	int ret = FM_SIG_FAULT;

	fm_altstack_fault(uc);
	if (info->si_code <= 0)
		return FM_SIG_SENT;
	if (info->si_code != BUS_ADRERR &&
	    !(info->si_code == BUS_MCEERR_AR && fm_trapped(info->si_addr)))
		return FM_SIG_FAULT; /* misaligned, or memory has failed */
	switch (fault(info->si_addr, uc)) {
	case FM_FAULT_RETRY:
		doubted.ip = 0; /* ours again: the next doubt is a new one */
		ret = FM_SIG_DONE;
		break;
	case FM_FAULT_BUS:
		ret = FM_SIG_FAULT;
		break;
	case FM_FAULT_SEGV:
		if (!end_copy(uc))
			raise_segv(info, uc);
		ret = FM_SIG_DONE;
		break;
	case FM_FAULT_FOREIGN:
		ret = believe(info, uc) ? FM_SIG_FAULT : FM_SIG_DONE;
		break;
	}
	if (ret == FM_SIG_FAULT && end_copy(uc))
		ret = FM_SIG_DONE;
	errno = saved;
	return ret;
}

static bool on_alt_stack(const ucontext_t *uc, uintptr_t addr)
{
	uintptr_t start = (uintptr_t)uc->uc_stack.ss_sp;

	return !(uc->uc_stack.ss_flags & SS_DISABLE) &&
	       addr - start < uc->uc_stack.ss_size;
}

/* A handler without SA_ONSTACK expects the stack that was interrupted. */
static void call_handler(const struct fm_ksigaction *act, int sig,
			 siginfo_t *info, ucontext_t *uc)
{
	uintptr_t sp = fm_arch_sp(uc);

	if (!(act->flags & SA_ONSTACK) && on_alt_stack(uc, (uintptr_t)uc) &&
	    !on_alt_stack(uc, sp))
		fm_sig_call_on((void *)(sp - FM_ARCH_RED_ZONE), act->handler,
			       sig, info, uc);
	else
		((void (*)(int, siginfo_t *, void *))(void *)act->handler)(
			sig, info, uc);
}

/* As the kernel: the handler runs with the interrupted mask, its own sa_mask
 * and the signal itself blocked - SIGBUS only as far as the program sees. */
static void run_handler(const struct fm_ksigaction *act, int sig,
			siginfo_t *info, ucontext_t *uc)
{
	uint64_t mask = uc->uc_sigmask.__val[0] | act->mask;
	const bool was_blocked = fm_view_blocked();
	const uint64_t all = ~0ull;

	if (was_blocked || (act->mask & FM_BUS_BIT) ||
	    !(act->flags & SA_NODEFER))
		fm_view_set(true);
	mask &= ~FM_BUS_BIT;
	fm_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	call_handler(act, sig, info, uc);
	fm_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	/* sigreturn takes the mask from uc, where the program may have put
	 * SIGBUS; a signal held back meanwhile is queued again here and
	 * arrives after sigreturn. */
	fm_view_set(was_blocked || (uc->uc_sigmask.__val[0] & FM_BUS_BIT));
	uc->uc_sigmask.__val[0] &= ~FM_BUS_BIT;
}

/*
 * Runs on the stack of the signal frame: keep the frames small. Death by
 * default action: for a fault, give SIGBUS back to the kernel and run the
 * instruction again, so that the core shows the real place; for a signal that
 * somebody sent, send it again.
 */
void fm_sig_deliver(int sig, siginfo_t *info, void *context, int why)
{
	struct fm_ksigaction act;
	ucontext_t *uc = context;

	if (fm_view_blocked() && why == FM_SIG_SENT) {
		fm_bus_hold(info);
		return;
	}
	act = fm_bus_action(true);
	if (why == FM_SIG_SENT && act.handler == SIG_IGN)
		return;
	if (act.handler == SIG_DFL || act.handler == SIG_IGN ||
	    fm_view_blocked()) {
		set_default(sig);
		if (why == FM_SIG_SENT)
			queue_to_self(info, sig);
		return;
	}
	run_handler(&act, sig, info, uc);
}
