/* SPDX-License-Identifier: MIT */
/*
 * sigstack.c - stacks for fault handling, one slot per thread:
 *
 *	| guard 4 KiB | fault stack 64 KiB | guard 4 KiB | alternate 64 KiB |
 *
 * The first is where faults are resolved; the second, made accessible only
 * then, is for altstack.c. No thread-exit hook: a slot whose owner is gone is
 * found by asking the kernel, when slots run short.
 */
#include "shim.h"

#include <sys/mman.h>

#include "sigstack.h"

#define GUARD ((size_t)4096)
#define FAULT_STACK ((size_t)64 << 10)
#define SLOT (GUARD + FAULT_STACK + GUARD + FM_ALT_STACK)
#define SLOTS 16384u

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
static char *sigstack_adopt(struct slot *s, uint32_t n, int tid, int pid)
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
		p = sigstack_adopt(s, used, tid, fm_sys_getpid());
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

char *fm_sig_stack_alt(void)
{
	char *p = slot_get();

	if (!p)
		return NULL;
	p += GUARD + FAULT_STACK + GUARD;
	return fm_sys_mprotect(p, FM_ALT_STACK, PROT_READ | PROT_WRITE) ? NULL :
									   p;
}
