/* SPDX-License-Identifier: MIT */
/*
 * sig.c - the program's disposition of SIGBUS is virtual. Once the engine
 * starts, or the program first blocks SIGBUS (sigmask.c), the kernel always
 * has our handler; sigaction and its relatives read and write `bus.action`
 * instead and report what the program set (SIG_DFL until then: some runtimes
 * install theirs only over the default). Before that moment everything is
 * native. Handlers of other signals lose SIGBUS from their sa_mask: a fault
 * while it is blocked kills.
 */
#include "shim.h"

#include "sigstack.h"

/* We define the deprecated names, we do not use them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

FM_NEXT(sigaction)
FM_NEXT(signal)
FM_NEXT(siginterrupt)
FM_NEXT(sigset)
FM_NEXT(sigignore)

extern sighandler_t __sysv_signal(int sig, sighandler_t handler);
FM_NEXT(__sysv_signal)

/* Guarded by `lock`, which is held with every signal blocked and never across
 * an access to the program's memory. */
static struct {
	struct fm_lock lock;
	_Atomic bool taken;          /* our handler is installed */
	_Atomic bool wanted;         /* by the engine, once */
	bool interrupt;              /* siginterrupt(SIGBUS, 1) */
	struct fm_ksigaction action; /* what the program believes */
	uint64_t fork_mask;          /* while a fork holds the lock */
} bus = { .lock = FM_LOCK(FM_RANK_SIGNAL) };

/* Bit s-1: the program's sa_mask for signal s has SIGBUS in it. */
static _Atomic uint64_t masks_with_bus;

static void bus_lock(uint64_t *ret_old)
{
	uint64_t all = ~0ull;

	fm_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, ret_old, 8);
	fm_lock_quietly(&bus.lock);
}

static void bus_unlock(const uint64_t *old)
{
	fm_unlock(&bus.lock);
	fm_restore_signals(old);
}

/* Around fork: the child must not inherit locks held by other threads. The
 * last thing before and the first thing after. */
void fm_sig_fork_lock(void)
{
	uint64_t old;

	bus_lock(&old);
	bus.fork_mask = old;
	fm_mask_fork_lock();
}

void fm_sig_fork_unlock(void)
{
	uint64_t old = bus.fork_mask;

	fm_mask_fork_unlock();
	bus_unlock(&old);
}

bool fm_bus_taken(void)
{
	return atomic_load_explicit(&bus.taken, memory_order_acquire);
}

bool fm_engine_wants_bus(void)
{
	return atomic_load_explicit(&bus.wanted, memory_order_acquire);
}

static long raw_sigaction(int sig, const struct fm_ksigaction *act,
			  struct fm_ksigaction *old)
{
	return fm_sys4(SYS_rt_sigaction, sig, act, old, 8);
}

struct fm_ksigaction fm_bus_action(bool take_reset)
{
	struct fm_ksigaction ret;
	uint64_t old;

	bus_lock(&old);
	ret = bus.action;
	if (take_reset && (ret.flags & SA_RESETHAND))
		bus.action.handler = SIG_DFL;
	bus_unlock(&old);
	return ret;
}

/* ---- conversion ------------------------------------------------------- */

static struct fm_ksigaction sig_to_kernel(const struct sigaction *act)
{
	struct fm_ksigaction k = {
		.handler = act->sa_handler,
		.flags = (unsigned)act->sa_flags | FM_SA_RESTORER,
		.restorer = fm_sig_restorer,
		.mask = act->sa_mask.__val[0],
	};

	return k;
}

static void from_kernel(const struct fm_ksigaction *k, struct sigaction *ret)
{
	ret->sa_handler = k->handler;
	ret->sa_flags = (int)(k->flags & ~(unsigned long)FM_SA_RESTORER);
	sigemptyset(&ret->sa_mask);
	ret->sa_mask.__val[0] = k->mask;
}

/* ---- SIGBUS ----------------------------------------------------------- */

/* A vfork child shares our tables but has its own kernel dispositions, which
 * last until exec. Only an ignored signal survives exec, so only that matters;
 * the handler has to stay for the faults until then. */
static long bus_action_in_vfork_child(const struct fm_ksigaction *act)
{
	if (act && act->handler == SIG_IGN)
		return raw_sigaction(SIGBUS, act, NULL);
	return 0;
}

/* The whole of rt_sigaction(SIGBUS); old and act are ours, not the program's
 * memory. Before the take-over the kernel's table is the truth. */
static long bus_sigaction(const struct fm_ksigaction *act,
			  struct fm_ksigaction *old)
{
	const uint64_t unblockable = 1ull << (SIGKILL - 1) |
				     1ull << (SIGSTOP - 1);
	bool other = act && fm_bus_taken() && fm_whoami() == FM_VFORK_CHILD;
	uint64_t saved;
	long r = 0;

	bus_lock(&saved);
	if (!fm_bus_taken()) {
		r = raw_sigaction(SIGBUS, act, old);
	} else {
		if (old)
			*old = bus.action;
		if (other) {
			r = bus_action_in_vfork_child(act);
		} else if (act) {
			bus.action = *act;
			bus.action.mask &= ~unblockable;
		}
	}
	bus_unlock(&saved);
	return r;
}

static int bus_sigaction_hook(const struct sigaction *act,
			      struct sigaction *old)
{
	struct fm_ksigaction k, k_old;
	long r;

	if (act)
		k = sig_to_kernel(act);
	r = bus_sigaction(act ? &k : NULL, &k_old);
	if (r < 0)
		return (int)fm_result(r);
	if (old)
		from_kernel(&k_old, old);
	return 0;
}

/* signal() and its kin: returns the old handler or SIG_ERR. */
static sighandler_t bus_signal(sighandler_t handler, unsigned flags,
			       uint64_t mask)
{
	struct fm_ksigaction k = { handler, flags | FM_SA_RESTORER,
				   fm_sig_restorer, mask };
	struct fm_ksigaction old;
	long r;

	if (handler == SIG_ERR)
		r = -EINVAL;
	else
		r = bus_sigaction(&k, &old);
	if (r < 0) {
		errno = (int)-r;
		return SIG_ERR;
	}
	return old.handler;
}

/* ---- other signals ---------------------------------------------------- */

static void remember_mask(int sig, bool has_bus)
{
	uint64_t bit = 1ull << (sig - 1);

	if (has_bus)
		atomic_fetch_or(&masks_with_bus, bit);
	else if (atomic_load(&masks_with_bus) & bit)
		atomic_fetch_and(&masks_with_bus, ~bit);
}

/* State changes only when the call succeeded and act was given. The result
 * goes through our stack: the kernel cannot store into managed memory. */
static int other_sigaction(int sig, const struct sigaction *act,
			   struct sigaction *old)
{
	struct sigaction stripped, previous;
	bool has_bus = false, had_bus;
	int r;

	if (sig < 1 || sig > 64)
		return FM_FOUND(sigaction)(sig, act, old);
	had_bus = atomic_load(&masks_with_bus) >> (sig - 1) & 1;
	if (act) {
		stripped = *act;
		has_bus = stripped.sa_mask.__val[0] & FM_BUS_BIT;
		stripped.sa_mask.__val[0] &= ~FM_BUS_BIT;
	}
	r = FM_FOUND(sigaction)(sig, act ? &stripped : NULL,
				old ? &previous : NULL);
	if (r)
		return r;
	if (act)
		remember_mask(sig, has_bus);
	if (old) {
		if (had_bus)
			previous.sa_mask.__val[0] |= FM_BUS_BIT;
		*old = previous;
	}
	return 0;
}

/* Before our constructor: the kernel's own interface. */
static int boot_sigaction(int sig, const struct sigaction *act,
			  struct sigaction *old)
{
	struct fm_ksigaction k, k_old;
	long r;

	if (act)
		k = sig_to_kernel(act);
	r = raw_sigaction(sig, act ? &k : NULL, &k_old);
	if (!r && old)
		from_kernel(&k_old, old);
	return (int)fm_result(r);
}

/* ---- hooks ------------------------------------------------------------ */

FM_HOOK int sigaction(int sig, const struct sigaction *act,
		      struct sigaction *old)
{
	if (!FM_FOUND(sigaction))
		return boot_sigaction(sig, act, old);
	if (!fm_on())
		return FM_FOUND(sigaction)(sig, act, old);
	if (sig == SIGBUS)
		return bus_sigaction_hook(act, old);
	return other_sigaction(sig, act, old);
}

FM_DO_ALIAS(sigaction, __sigaction)

/* BSD semantics: restarts, stays installed, blocks itself. */
FM_HOOK sighandler_t signal(int sig, sighandler_t handler)
{
	if (sig != SIGBUS || !fm_on() || !fm_bus_taken())
		return FM_LATE(signal)(sig, handler);
	return bus_signal(handler, bus.interrupt ? 0 : SA_RESTART, FM_BUS_BIT);
}

FM_DO_ALIAS(signal, bsd_signal)
FM_DO_ALIAS(signal, ssignal)

/* System V semantics: one shot, not blocked. */
FM_HOOK sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	if (sig != SIGBUS || !fm_on() || !fm_bus_taken())
		return FM_LATE(__sysv_signal)(sig, handler);
	return bus_signal(handler, SA_RESETHAND | SA_NODEFER, 0);
}

FM_DO_ALIAS(__sysv_signal, sysv_signal)

/* X/Open: SIG_HOLD blocks; anything else installs and unblocks. Returns
 * SIG_HOLD when the signal was blocked. */
FM_HOOK sighandler_t sigset(int sig, sighandler_t handler)
{
	struct fm_ksigaction k;
	sighandler_t old;
	bool blocked;

	if (sig != SIGBUS || !fm_on())
		return FM_LATE(sigset)(sig, handler);
	blocked = fm_view_blocked();
	if (handler == SIG_HOLD) {
		bus_sigaction(NULL, &k);
		fm_view_set(true);
		return blocked ? SIG_HOLD : k.handler;
	}
	old = bus_signal(handler, 0, 0);
	if (old == SIG_ERR)
		return old;
	fm_view_set(false);
	return blocked ? SIG_HOLD : old;
}

FM_HOOK int sigignore(int sig)
{
	if (sig != SIGBUS || !fm_on())
		return FM_LATE(sigignore)(sig);
	return bus_signal(SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}

FM_HOOK int siginterrupt(int sig, int interrupt)
{
	uint64_t saved;

	if (sig != SIGBUS || !fm_on() || !fm_bus_taken())
		return FM_LATE(siginterrupt)(sig, interrupt);
	bus_lock(&saved);
	bus.interrupt = interrupt;
	if (interrupt)
		bus.action.flags &= ~(unsigned long)SA_RESTART;
	else
		bus.action.flags |= SA_RESTART;
	bus_unlock(&saved);
	return 0;
}

/* ---- take-over -------------------------------------------------------- */

/* Handlers installed before our constructor, or by raw system call. */
static void strip_installed_masks(void)
{
	struct fm_ksigaction k;

	for (int sig = 1; sig <= 64; sig++) {
		if (sig == SIGBUS || raw_sigaction(sig, NULL, &k) ||
		    k.handler == SIG_DFL || k.handler == SIG_IGN ||
		    !(k.mask & FM_BUS_BIT))
			continue;
		k.mask &= ~FM_BUS_BIT;
		if (!raw_sigaction(sig, &k, NULL))
			remember_mask(sig, true);
	}
}

static const struct fm_ksigaction ours = {
	.handler = (void (*)(int))(void *)fm_sig_entry,
	.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | FM_SA_RESTORER,
	.restorer = fm_sig_restorer,
	.mask = ~0ull,
};

int fm_sig_native(void (*handler)(int))
{
	struct fm_ksigaction k = { handler, FM_SA_RESTORER, fm_sig_restorer,
				   0 };

	return (int)raw_sigaction(SIGBUS, handler ? &k : &ours, NULL);
}

int fm_sig_install(void)
{
	uint64_t saved;
	long r = 0;

	bus_lock(&saved);
	if (!fm_bus_taken()) {
		r = raw_sigaction(SIGBUS, &ours, &bus.action);
		atomic_store(&bus.taken, !r);
	}
	bus_unlock(&saved);
	return (int)r;
}

FM_UP(shim_take_signals, fm_sig_take)

int fm_sig_take(void)
{
	int r = fm_sig_threads_ready();

	if (!r)
		r = fm_altstack_take();
	if (!r)
		r = fm_sig_install();
	if (r)
		return r;
	strip_installed_masks();
	atomic_store(&bus.wanted, true);
	return 0;
}
