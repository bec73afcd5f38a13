/* SPDX-License-Identifier: MIT */
/*
 * lock.h - futex mutex of the engine. One word: 0 free, 1 held, 2 held with
 * sleepers (Drepper, "Futexes are tricky", mutex2). Usable in fault context
 * for leaf locks whose holders run with all signals blocked.
 */
#pragma once

#include "lock_check.h"
#include "sys.h"

struct fm_lock {
	_Atomic uint32_t word;
#ifdef FM_LOCK_CHECK
	enum fm_rank rank;
#endif
};

#ifdef FM_LOCK_CHECK
#define FM_LOCK(rank) { 0, rank }
#define fm_lock_rank(l) ((l)->rank)
#else
#define FM_LOCK(rank) { 0 }
#endif

/* Something of ours is, or was, in use: a lock has been taken. Those of the
 * allocator and of the shim say nothing, they are taken quietly. What is
 * changed without a lock, and has to be forgotten in a child of fork, says it
 * itself. A child has it from its parent. */
extern _Atomic bool fm_used;

static inline void fm_use_begins(void)
{
	if (!atomic_load_explicit(&fm_used, memory_order_relaxed))
		atomic_store(&fm_used, true);
}

static inline bool fm_trylock_quietly(struct fm_lock *l)
{
	uint32_t free = 0;

	if (!atomic_compare_exchange_strong(&l->word, &free, 1))
		return false;
	fm_check_got(l, fm_lock_rank(l));
	return true;
}

static inline bool fm_trylock(struct fm_lock *l)
{
	fm_use_begins();
	return fm_trylock_quietly(l);
}

static inline void fm_lock_quietly(struct fm_lock *l)
{
	fm_check_ask(l, fm_lock_rank(l));
	for (int i = 0; i < 40; i++) {
		if (fm_trylock_quietly(l))
			return;
		fm_cpu_relax();
	}
	while (atomic_exchange(&l->word, 2) != 0)
		fm_futex_wait(&l->word, 2, NULL);
	fm_check_got(l, fm_lock_rank(l));
}

static inline void fm_lock(struct fm_lock *l)
{
	fm_use_begins();
	fm_lock_quietly(l);
}

static inline void fm_unlock(struct fm_lock *l)
{
	fm_check_put(l);
	if (atomic_exchange(&l->word, 0) == 2)
		fm_futex_wake(&l->word, 1);
}

/* [fault] The child of fork: whoever held it is not here. */
static inline void fm_lock_reset(struct fm_lock *l)
{
	fm_check_put(l);
	atomic_store(&l->word, 0);
}

/* Set while this thread is between fm_block_signals and fm_restore_signals:
 * sections inside it need no system call. Its address names the thread. */
extern _Thread_local bool fm_signals_blocked
	__attribute__((tls_model("initial-exec")));
#define FM_MASK_NESTED UINT64_MAX /* no real mask: SIGKILL is never blocked */

/* [fault] Block every signal but the synchronous ones around a section that
 * holds a lock: a handler of the program that calls us must not find it held by
 * its own thread, nor unwind through it. Raw 64-bit masks. Sections nest. */
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

static inline void fm_signals_back(uint64_t *mask)
{
	fm_restore_signals(mask);
}

static inline void fm_unlock_held(struct fm_lock **l)
{
	fm_unlock(*l);
}

/* For the rest of the block, however it is left. */
#define FM_BLOCK_SIGNALS()                                          \
	uint64_t fm_mask __attribute__((cleanup(fm_signals_back))); \
	fm_block_signals(&fm_mask)
/* The lock held, too. */
#define FM_HOLD(lock)                                                    \
	FM_BLOCK_SIGNALS();                                              \
	struct fm_lock *fm_held __attribute__((cleanup(fm_unlock_held))) = \
		lock;                                                    \
	fm_lock(fm_held)
