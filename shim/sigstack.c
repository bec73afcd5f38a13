/* SPDX-License-Identifier: MIT */
/*
 * sigstack.c - stacks for fault handling, one slot per thread:
 *
 *	| guard 4 KiB | fault stack 64 KiB | guard 4 KiB | alternate 64 KiB |
 *
 * The first is where faults are resolved; the second, made accessible only
 * then, replaces an alternate stack of the program that is short, or that
 * another thread has as well: of signals that never come nobody notices, but
 * two threads may fault at once (Varnish gives all of its threads one). No
 * thread-exit hook: a slot whose owner is gone is found by asking the kernel,
 * when slots run short.
 */
#include "shim.h"

#include <string.h>
#include <sys/mman.h>

#include "sigstack.h"

#define GUARD ((size_t)4096)
#define FAULT_STACK ((size_t)64 << 10)
#define ALT_STACK ((size_t)64 << 10)
#define SLOT (GUARD + FAULT_STACK + GUARD + ALT_STACK)
#define SLOTS 16384u
/* The smallest size that sigaltstack(2) takes. */
#define MINSIGSTKSZ_KERNEL 2048
/* Programs size these stacks for one frame and their handler. A fault inside
 * that handler puts a second frame on top (3.4 KiB here, up to 11 KiB on CPUs
 * with AMX), so anything short gets our stack instead. */
#define ALT_ENOUGH ((size_t)32 << 10)

FM_NEXT(sigaltstack)

struct slot {
	_Atomic(char *) base;
	_Atomic int owner; /* thread id; 0 free */
};

/* Wiped in a child of fork: thread ids there mean other threads. The child
 * keeps using the stack it has and never hands it on. */
static struct {
	_Atomic(struct slot *) slots;
	_Atomic uint32_t used;      /* slots [0, used) were ever taken */
	_Atomic uint32_t reclaim_at;
} pool = { .reclaim_at = 64 };

FM_TLS void *fm_sig_stack;
static FM_TLS char *my_slot;
static FM_TLS struct {
	bool active;
	stack_t given; /* what the program asked for */
} substitute;

static struct slot *slots(void)
{
	struct slot *s = atomic_load(&pool.slots), *made;

	if (s)
		return s;
	made = fm_sys_anon(SLOTS * sizeof(*s));
	if (!made)
		return NULL;
	fm_sys_madvise(made, SLOTS * sizeof(*s), MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&pool.slots, &s, made))
		return made;
	fm_sys_munmap(made, SLOTS * sizeof(*s));
	return s;
}

static char *slot_map(void)
{
	char *p = fm_sys_far(SLOT, PROT_NONE);

	if (fm_is_err(p))
		return NULL;
	if (fm_sys_mprotect(p + GUARD, FAULT_STACK, PROT_READ | PROT_WRITE)) {
		fm_sys_munmap(p, SLOT);
		return NULL;
	}
	return p;
}

/* A slot of this thread id, or of a thread that is gone. */
static char *adopt(struct slot *s, uint32_t n, int tid, int pid)
{
	for (uint32_t i = 0; i < n; i++) {
		int owner = atomic_load(&s[i].owner);

		if (!owner || (owner != tid &&
			       fm_sys3(SYS_tgkill, pid, owner, 0) != -ESRCH))
			continue;
		if (atomic_load(&s[i].base) &&
		    atomic_compare_exchange_strong(&s[i].owner, &owner, tid))
			return atomic_load(&s[i].base);
	}
	return NULL;
}

static char *slot_new(void)
{
	struct slot *s = slots();
	const int tid = fm_sys_gettid();
	uint32_t used = atomic_load(&pool.used);
	char *p = NULL;

	/* A vfork child's thread id ends before its parent stops using the
	 * slot: such slots stay out of the table. */
	if (!s || fm_whoami() != FM_ME)
		return slot_map();
	if (used > SLOTS)
		used = SLOTS;
	if (used >= atomic_load(&pool.reclaim_at)) {
		p = adopt(s, used, tid, fm_sys_getpid());
		if (p)
			return p;
		atomic_store(&pool.reclaim_at, used * 2);
	}
	p = slot_map();
	if (!p)
		return NULL;
	used = atomic_fetch_add(&pool.used, 1);
	if (used < SLOTS) {
		atomic_store(&s[used].owner, tid);
		atomic_store(&s[used].base, p);
	}
	return p;
}

static char *slot_get(void)
{
	if (!my_slot)
		my_slot = slot_new();
	return my_slot;
}

void *fm_sig_stack_new(void)
{
	char *p = slot_get();

	if (p)
		fm_sig_stack = p + GUARD + FAULT_STACK;
	return fm_sig_stack;
}

/* ---- sigaltstack ------------------------------------------------------ */

static bool too_small(const stack_t *ss)
{
	/* What the kernel refuses is for the kernel to judge. */
	return !(ss->ss_flags & SS_DISABLE) && ss->ss_size < ALT_ENOUGH &&
	       ss->ss_size >= MINSIGSTKSZ_KERNEL;
}

/* Stacks that were given to the kernel, and by which thread last. When the table is
 * crowded one is forgotten. */
#define SEEN 256u
#define PROBES 8u
static struct {
	_Atomic uintptr_t sp;
	_Atomic int tid;
} seen[SEEN];

static bool is_shared(const stack_t *ss)
{
	uintptr_t sp = (uintptr_t)ss->ss_sp, was;
	unsigned at = (uint32_t)(sp >> 4) * 0x9e3779b1u >> 24;
	const int me = fm_sys_gettid();

	if ((ss->ss_flags & SS_DISABLE) || !sp)
		return false;
	for (unsigned k = 0; k < PROBES; k++) {
		was = 0;
		if (!atomic_compare_exchange_strong(&seen[(at + k) % SEEN].sp,
						    &was, sp) && was != sp)
			continue;
		/* Who came first may not have said yet who it is. */
		if (!was)
			atomic_store(&seen[(at + k) % SEEN].tid, me);
		return was && atomic_load(&seen[(at + k) % SEEN].tid) != me;
	}
	atomic_store(&seen[at % SEEN].tid, me);
	atomic_store(&seen[at % SEEN].sp, sp);
	return false;
}

static bool enlarge(stack_t *ss)
{
	char *p = slot_get();

	if (!p)
		return false;
	p += GUARD + FAULT_STACK + GUARD;
	if (fm_sys_mprotect(p, ALT_STACK, PROT_READ | PROT_WRITE))
		return false;
	ss->ss_sp = p;
	ss->ss_size = ALT_STACK;
	return true;
}

/* A vfork child has an alternate stack of its own in the kernel but shares
 * our thread-local record with its parent: leave that alone there. */
FM_HOOK int sigaltstack(const stack_t *ss, stack_t *old)
{
	stack_t now, was, given;
	bool replace = false, vfork_child;

	if (!fm_on() || !next_sigaltstack)
		return FM_PASS(sigaltstack, SYS_sigaltstack, ss, old);
	vfork_child = fm_whoami() == FM_VFORK_CHILD;
	if (ss) {
		now = given = *ss;
		replace = !vfork_child && (too_small(&now) || is_shared(&now)) &&
			  enlarge(&now);
	}
	if (next_sigaltstack(ss ? &now : NULL, old ? &was : NULL))
		return -1;
	if (old) {
		*old = was;
		if (substitute.active && !(was.ss_flags & SS_DISABLE)) {
			old->ss_sp = substitute.given.ss_sp;
			old->ss_size = substitute.given.ss_size;
		}
	}
	if (ss && !vfork_child) {
		substitute.active = replace;
		substitute.given = given;
	}
	return 0;
}
