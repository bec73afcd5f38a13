/* SPDX-License-Identifier: MIT */
/*
 * shim.h - what every hook file needs. Include it FIRST: it undoes build
 * flags under which libc headers rename or inline the functions defined here.
 *
 * A hook is an ordinary definition of the libc name:
 *
 *	FM_NEXT(munmap)
 *	FM_HOOK int munmap(void *addr, size_t len)
 *	{
 *		if (!fm_active() || !fm_overlaps(addr, len))
 *			return FM_PASS(munmap, SYS_munmap, addr, len);
 *		return (int)fm_result(fm_munmap(addr, len));
 *	}
 *
 * next_munmap is the definition behind ours (libc, or another preloaded
 * library), looked up by the first call that needs it (next.c). Until the
 * constructor has ended it is NULL, and FM_PASS makes the raw system call. A
 * hook never asks dlsym: that allocates, and allocators map memory under their
 * locks.
 */
#pragma once

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"

/* Not in every mman.h. */
extern int mseal(void *addr, size_t len, unsigned long flags);

/* One definition serves the 32-bit and 64-bit offset names. */
_Static_assert(sizeof(off_t) == 8, "off_t must be 64 bits");

#define FM_HOOK __attribute__((visibility("default")))
#define FM_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* A jump that somebody wrote over a hook, and what it covers in libc. */
struct fm_patch {
	const void *_Atomic to;
	void *found; /* what is behind the hook */
	_Atomic bool over_libc; /* that is libc's */
	uint8_t was[FM_ARCH_JUMP];
};

/* A name, its pointer, its hook, and its patch if the kernel alone can be
 * behind it (or 0): distances from here, which the loader need not touch. */
struct fm_next {
	int32_t name, slot, ours, patch;
};

/* Declare next_NAME with libc's own prototype and enter it into the table of
 * all of them (the linker collects the section). */
#define FM_NEXT(fn)                                                       \
	static __typeof__(&fn) next_##fn __attribute__((used));           \
	FM_NEXT_ENTRY(fn, "next_" #fn, "0")

/* The same for what is called by FM_PASS only and is nothing but a system call:
 * who patches the hook patches libc's function, too (patched.c). */
#define FM_NEXT_PATCHED(fn)                                               \
	static __typeof__(&fn) next_##fn __attribute__((used));           \
	static struct fm_patch fm_patch_##fn __attribute__((used));       \
	FM_NEXT_ENTRY(fn, "next_" #fn, "fm_patch_" #fn " - .")

#define FM_NEXT_ENTRY(fn, slot, patch)                                    \
	extern const struct fm_next fm_next_entry_##fn                    \
		__attribute__((visibility("hidden")));                    \
	__asm__(".pushsection fm_next_names,\"a\",@progbits\n"            \
		"fm_next_name_" #fn ": .string \"" #fn "\"\n"             \
		".popsection\n"                                           \
		".pushsection fm_next,\"a\",@progbits\n"                  \
		".balign 4\n"                                             \
		".globl fm_next_entry_" #fn "\n"                          \
		".hidden fm_next_entry_" #fn "\n"                         \
		"fm_next_entry_" #fn ": .long fm_next_name_" #fn          \
		" - ., " slot " - ., " #fn " - ., " patch "\n"            \
		".popsection\n");

/* Bounds of the section; provided by the linker. */
extern const struct fm_next __start_fm_next[]
	__attribute__((visibility("hidden")));
extern const struct fm_next __stop_fm_next[]
	__attribute__((visibility("hidden")));

static inline void *fm_next_at(const int32_t *d)
{
	return (void *)((uintptr_t)d + (uintptr_t)(intptr_t)*d);
}

static inline const char *fm_next_name(const struct fm_next *e)
{
	return fm_next_at(&e->name);
}

static inline void **fm_next_slot(const struct fm_next *e)
{
	return fm_next_at(&e->slot);
}

static inline void *fm_next_ours(const struct fm_next *e)
{
	return fm_next_at(&e->ours);
}

static inline struct fm_patch *fm_next_patch(const struct fm_next *e)
{
	return e->patch ? fm_next_at(&e->patch) : NULL;
}

/* What is behind the hook; NULL: nothing, or the constructor has not ended. */
#define FM_FOUND(fn)                                                      \
	({                                                                \
		__typeof__(next_##fn) found_ =                            \
			__atomic_load_n(&next_##fn, __ATOMIC_RELAXED);    \
                                                                          \
		found_ ? found_ :                                         \
			 (__typeof__(found_))fm_next_find(                \
				 &fm_next_entry_##fn);                    \
	})
void *fm_next_find(const struct fm_next *e);
void fm_next_begin(void); /* in the constructor */
/* The next definition of a name, or libc's own, read from their tables. */
void *fm_behind_us(const char *name);
void *fm_in_libc(const char *name);

/*
 * Call the next definition, or the kernel while there is none (yet), or with
 * `raw`, which is how libc's syscall() enters a hook: behind it there is
 * nothing but the kernel. (The next definition may be an allocator's that makes
 * its own calls by syscall(): it would come back to us without end.) Hooks that
 * can be entered so are functions fm_do_NAME(raw, ...), see calls.h. A hook
 * calls no other public name.
 */
#define FM_PASS(fn, ...) FM_PASS_VIA_(false, fn, __VA_ARGS__)
#define FM_PASS_VIA(raw, fn, ...) FM_PASS_VIA_(raw, fn, __VA_ARGS__)
#define FM_PASS_VIA_(raw, fn, nr, ...)                                    \
	({                                                                \
		const __typeof__(next_##fn) behind_ =                     \
			(raw) ? NULL : FM_FOUND(fn);                      \
                                                                          \
		behind_ ? behind_(__VA_ARGS__) :                          \
			  (__typeof__(behind_(__VA_ARGS__)))fm_result(    \
				  fm_syscall(nr, __VA_ARGS__));           \
	})

/* FM_PASS for calls to which the kernel wants the size of a signal set. */
#define FM_PASS_SET(fn, nr, ...)                                          \
	({                                                                \
		const __typeof__(next_##fn) behind_ = FM_FOUND(fn);       \
                                                                          \
		behind_ ? behind_(__VA_ARGS__) :                          \
			  (__typeof__(behind_(__VA_ARGS__)))fm_result(    \
				  fm_syscall(nr, __VA_ARGS__, 8));        \
	})

/* fm_syscall(nr, up to 6 arguments): pads with zeros, -errno convention. */
#define fm_syscall(...) fm_syscall_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define fm_syscall_(nr, a, b, c, d, e, f, ...)                            \
	fm_arch_call(nr, (long)(a), (long)(b), (long)(c), (long)(d),      \
		     (long)(e), (long)(f))

/* For names that have no system call behind them (dlopen, longjmp): resolve
 * now when a constructor older than ours calls. Callers hold no allocator
 * lock there: they are functions that allocate themselves. */
void *fm_next_late(const char *name);
#define FM_LATE(fn)                                                       \
	({                                                                \
		const __typeof__(next_##fn) late_ = FM_FOUND(fn);         \
                                                                          \
		late_ ? late_ : (__typeof__(late_))fm_next_late(#fn);     \
	})

/* Our hook of what libc's own table of names says, or p itself. */
void *fm_hook_of(void *p);

/* -errno convention to errno convention. */
static inline long fm_result(long r)
{
	if ((unsigned long)r >= (unsigned long)-4095) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

/* True from the end of our constructor on, unless the library is inert
 * (FASTMAP_MODE=off, nothing configured, set-user-ID program, dlopen). */
extern _Atomic bool fm_shim_on;
static inline bool fm_on(void)
{
	return atomic_load_explicit(&fm_shim_on, memory_order_relaxed);
}
/* FASTMAP_DEEPBIND=keep, or inert: what dlsym and dlopen say stays. */
bool fm_dl_kept(void);
struct link_map;
struct link_map *fm_module_of(const void *addr);
/* Ours, and libc if it is behind us, or NULL. */
const struct link_map *fm_module_ours(void);
const struct link_map *fm_module_libc(void);
bool fm_is_libc(const struct link_map *m);

/* patched.c: have hooks been patched? And after the program has protected a
 * range: if that may have been the end of it. */
void fm_patches_follow(void);
void fm_patches_seen(const void *addr, size_t len, int prot);

/* Does this thread hold pages or a range of a file around a call to what is
 * behind a hook? Then whatever that calls passes, or it would wait for itself.
 * Changed with all signals blocked. */
extern FM_TLS unsigned fm_holds;

#include "calls.h"
#include "user.h"

/* ---- signals (sig.c, sigmask.c, deliver.c) ----------------------------- */

#define FM_BUS_BIT (1ull << (SIGBUS - 1))

/* The kernel's struct sigaction. */
struct fm_ksigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Does the calling thread of the program believe that SIGBUS is blocked? In
 * truth it never is. Setting delivers what was held back. */
bool fm_view_blocked(void);
void fm_view_set(bool blocked);

/* Around a call that waits under another mask: the mask for the kernel is
 * w->mask. False: the new mask released a SIGBUS, whose handler has run; the
 * call then ends with EINTR (errno is set). */
struct fm_wait {
	sigset_t mask;
	bool was_blocked;
};
bool fm_mask_read(sigset_t *ret, const sigset_t *mask);
bool fm_wait_enter(struct fm_wait *w, const sigset_t *mask);
void fm_wait_leave(const struct fm_wait *w);

/* Registered with the engine: install the fault handler. 0 or -errno. */
int fm_sig_take(void);
/* Only our handler, so that SIGBUS can be held back. 0 or -errno. */
int fm_sig_install(void);
void fm_sig_boot(void);
/* The program's disposition of SIGBUS; with `take_reset`, apply
 * SA_RESETHAND as its delivery does. [fault] */
struct fm_ksigaction fm_bus_action(bool take_reset);
bool fm_bus_taken(void);
bool fm_engine_wants_bus(void);
/* Give the kernel `handler` (SIG_IGN around exec) or, with NULL, our own back.
 * 0 or -errno. */
int fm_sig_native(void (*handler)(int));
void fm_sig_fork_lock(void);
void fm_sig_fork_unlock(void);
void fm_mask_fork_lock(void);
void fm_mask_fork_unlock(void);
void fm_mask_fork_child(void);
/* altstack.c */
void fm_altstack_boot(void);
void fm_altstack_fork_child(void);
/* The program maps what may become the engine's. */
void fm_altstack_prepare(void);
/* The engine starts. 0; -EBUSY: a thread has a stack that is too small for it,
 * and only that thread could change it. */
int fm_altstack_take(void);
/* Is the calling thread on such a stack? What takes much of it is not for us,
 * then. */
bool fm_altstack_stands(void);
/* In the handler of a fault. */
void fm_altstack_fault(void *context);
/* Before the program has a second thread, and each time it makes one. */
void fm_threads_come(void);
/* Hold back a SIGBUS that somebody sent (si_code <= 0). [fault] */
void fm_bus_hold(const siginfo_t *info);

/* ---- processes (proc.c) ------------------------------------------------ */

/* Who is executing, seen from the engine's process? A vfork child runs in our
 * memory under another pid; a child of raw clone got a copy of the memory but
 * no atfork handlers ran in it. */
enum fm_whoami { FM_ME, FM_VFORK_CHILD, FM_RAW_FORK_CHILD };
enum fm_whoami fm_whoami(void);
/* Somebody is about to run in our memory: until this thread is back, or for
 * good. */
void fm_vfork_comes(void);
void fm_memory_shared(void);
/* The pid of the process whose memory this is, asked once. */
int fm_my_pid(void);
bool fm_gets_orphans(void);
/* Before a call after which this process may not open what it could open: it
 * becomes another user, leaves its root, or is confined. */
void fm_before_less(void);
/* filtered.c: would the filter, a struct sock_fprog, refuse what a fault calls,
 * by an error or death? *ret_stays: with it no file can be handed over. */
bool fm_filter_refuses(const void *filter, bool *ret_stays);
long fm_syscall_seccomp(long op, unsigned long flags, long args);
/* Around what makes a copy of the process. */
void fm_fork_begin(void);
void fm_fork_done(void);
void fm_fork_done_child(void);
long fm_syscall_fork(long nr, long a, long b, long c, long d, long e);
void fm_proc_boot(void);
/* Is the heap to be a file, and its library here? */
bool fm_heap_here(void);
/* From now on its file is mapped through us. */
void fm_heap_boot(void);
