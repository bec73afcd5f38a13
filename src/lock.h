/* SPDX-License-Identifier: MIT */
/*
 * lock.h - futex mutex of the engine. One word: 0 free, 1 held, 2 held with
 * sleepers (Drepper, "Futexes are tricky", mutex2). Usable in fault context
 * for leaf locks whose holders run with all signals blocked.
 */
#ifndef FM_LOCK_H
#define FM_LOCK_H

#include "sys.h"

static inline bool fm_trylock(_Atomic uint32_t *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(l, &free, 1);
}

static inline void fm_lock(_Atomic uint32_t *l)
{
	for (int i = 0; i < 40; i++) {
		if (fm_trylock(l))
			return;
		fm_cpu_relax();
	}
	while (atomic_exchange(l, 2) != 0)
		fm_futex_wait(l, 2, NULL);
}

static inline void fm_unlock(_Atomic uint32_t *l)
{
	if (atomic_exchange(l, 0) == 2)
		fm_futex_wake(l, 1);
}

/* Set while this thread is between fm_block_signals and fm_restore_signals:
 * sections inside it need no system call. Its address names the thread. */
extern _Thread_local bool fm_signals_blocked
	__attribute__((tls_model("initial-exec")));
#define FM_MASK_NESTED UINT64_MAX /* no real mask: SIGKILL is never blocked */

/* Block every signal but the synchronous ones around a section that holds a
 * lock: a handler of the program that calls us must not find it held by its
 * own thread, nor unwind through it. Raw 64-bit masks. Sections nest. */
static inline void fm_block_signals(uint64_t *ret_old)
{
	/* keep SIGBUS(7) SIGSEGV(11) SIGILL(4) SIGFPE(8) SIGTRAP(5) open */
	uint64_t all = ~(1ull << 6 | 1ull << 10 | 1ull << 3 | 1ull << 7 |
			 1ull << 4);

	if (fm_signals_blocked) {
		*ret_old = FM_MASK_NESTED;
		return;
	}
	fm_sys4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, ret_old, 8);
	fm_signals_blocked = true;
}

static inline void fm_restore_signals(const uint64_t *old)
{
	if (*old == FM_MASK_NESTED)
		return;
	fm_signals_blocked = false;
	fm_sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, old, NULL, 8);
}

#endif
