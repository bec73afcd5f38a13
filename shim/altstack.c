/* SPDX-License-Identifier: MIT */
/*
 * altstack.c - alternate signal stacks of the program. One that is short, or
 * that another thread has as well, is replaced: of signals that never come
 * nobody notices, but two threads may fault at once (Varnish gives all of its
 * threads one). One that is handed on, from thread to thread or from coroutine
 * to coroutine, belongs to whoever has it now, and is left alone.
 *
 * Until a file is mapped that may become the engine's it is kept, where that
 * can be made good then: only a thread itself can change its stack.
 */
#include "shim.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sigstack.h"

#define GUARD ((size_t)4096)
/* The smallest size that sigaltstack(2) takes. */
#define MINSIGSTKSZ_KERNEL 2048
/* Programs size these stacks for one frame and their handler. A fault inside
 * that handler puts a second frame on top (3.4 KiB here, up to 11 KiB on CPUs
 * with AMX), and its calls do the engine's work on it, so anything short gets
 * our stack instead. */
#define ALT_ENOUGH ((size_t)32 << 10)
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

FM_NEXT(sigaltstack)

/* ---- who has which stack ----------------------------------------------- */

/* When the table is crowded a claim is forgotten. */
#define CLAIMS 4096u
#define PROBES 8u

struct claim {
	uintptr_t sp; /* 0: free */
	int tid;
};

/* Wiped in a child of fork, whose other threads are gone; the lock too, which
 * one of them may have held. */
struct claims {
	struct fm_lock lock;
	struct claim at[CLAIMS];
};

static struct claims *_Atomic table;
static FM_TLS uintptr_t mine; /* the claim of this thread */

static struct claims *claims(void)
{
	struct claims *t = atomic_load(&table), *made;

	if (t)
		return t;
	made = fm_sys_anon(sizeof(*t));
	if (!made)
		return NULL;
	fm_sys_madvise(made, sizeof(*t), MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&table, &t, made))
		return made;
	fm_sys_munmap(made, sizeof(*t));
	return t;
}

static struct claim *altstack_place(struct claims *t, uintptr_t sp, unsigned k)
{
	uint32_t at = (uint32_t)(sp >> 4) * 0x9e3779b1u >> 20;

	return &t->at[(at + k) % CLAIMS];
}

static struct claim *altstack_find(struct claims *t, uintptr_t sp)
{
	for (unsigned k = 0; k < PROBES; k++)
		if (altstack_place(t, sp, k)->sp == sp)
			return altstack_place(t, sp, k);
	return NULL;
}

static struct claim *altstack_room(struct claims *t, uintptr_t sp)
{
	struct claim *c;

	for (unsigned k = 0; k < PROBES; k++) {
		c = altstack_place(t, sp, k);
		if (!c->sp || fm_sys_ended(c->tid))
			return c;
	}
	return altstack_place(t, sp, 0);
}

/* False when another living thread has the stack. */
static bool claim_stack(uintptr_t sp)
{
	struct claims *t = claims();
	const int me = fm_sys_gettid();
	struct claim *c;
	bool free;

	if (!t)
		return true;
	fm_lock_quietly(&t->lock);
	c = altstack_find(t, sp);
	free = !c || c->tid == me || fm_sys_ended(c->tid);
	if (free)
		*(c ? c : altstack_room(t, sp)) = (struct claim){ sp, me };
	fm_unlock(&t->lock);
	return free;
}

static void altstack_drop(uintptr_t sp)
{
	struct claims *t = atomic_load(&table);
	struct claim *c;

	if (!t || !sp)
		return;
	fm_lock_quietly(&t->lock);
	c = altstack_find(t, sp);
	if (c && c->tid == fm_sys_gettid())
		c->sp = 0;
	fm_unlock(&t->lock);
}

/* ---- ours instead ------------------------------------------------------ */

/* What was asked for, while the kernel has ours: told to who asks. Or it was
 * kept, and sp is NULL. */
static FM_TLS struct instead {
	void *sp;
	stack_t given;
} instead;
static FM_TLS bool keeps;
static _Atomic unsigned kept; /* by threads of the process */
static _Atomic bool prepared; /* the engine may start at any time */
/* Beside the slot, for stacks that are larger than it. */
static FM_TLS struct {
	char *sp;
	size_t size;
} large;

/* One that is too small for its successor stays mapped, as a frame may be on
 * it; sizes double, so all of them together are no larger than the last. */
static char *large_get(size_t need)
{
	size_t size = large.size ? large.size : (size_t)128 << 10;
	char *p;

	if (need <= large.size)
		return large.sp;
	if (need > (size_t)1 << 40)
		return NULL;
	while (size < need)
		size *= 2;
	p = fm_sys_far(GUARD + size, PROT_NONE);
	if ((uintptr_t)p >= (uintptr_t)-4095)
		return NULL;
	if (fm_sys_mprotect(p + GUARD, size, PROT_READ | PROT_WRITE)) {
		fm_sys_munmap(p, GUARD + size);
		return NULL;
	}
	large.sp = p + GUARD;
	large.size = size;
	return large.sp;
}

/* Never less than was asked for. A handler that runs on ours with
 * SS_AUTODISARM, or a coroutine that was made there, must not be given the
 * memory that it stands on. */
static bool altstack_replace(stack_t *ss)
{
	const bool fits = ss->ss_size <= FM_ALT_STACK;
	const char *here = __builtin_frame_address(0);
	char *p = fits ? fm_sig_stack_alt() : large_get(ss->ss_size);
	size_t size = fits ? FM_ALT_STACK : large.size;

	if (!p || (here >= p && here < p + size))
		return false;
	ss->ss_sp = p;
	ss->ss_size = size;
	return true;
}

/* ---- kept for now ------------------------------------------------------ */

/* Of several threads not all are here then. */
static bool may_start(void)
{
	return atomic_load(&prepared) ||
	       (atomic_load(&fm_threads) && fm_engine_may_serve());
}

static void keep_no_more(void)
{
	if (keeps)
		atomic_fetch_sub(&kept, 1);
	keeps = false;
}

/* While a handler runs on one with SS_AUTODISARM the kernel has none, and takes
 * it back afterwards: that could not be changed. */
static bool altstack_keep(const stack_t *ss)
{
	if (((unsigned)ss->ss_flags & SS_AUTODISARM) || may_start())
		return false;
	keeps = true;
	atomic_fetch_add(&kept, 1);
	if (atomic_load(&prepared))
		keep_no_more();
	return keeps;
}

static bool put_ours(const stack_t *ss)
{
	stack_t now = *ss;

	if (!altstack_replace(&now) || fm_sys2(SYS_sigaltstack, &now, NULL))
		return false;
	instead = (struct instead){ now.ss_sp, *ss };
	return true;
}

/* What it kept is replaced, unless it stands on it. */
static void replace_kept(void)
{
	const stack_t given = instead.given;

	FM_BLOCK_SIGNALS();
	if (keeps && fm_whoami() == FM_ME && put_ours(&given))
		keep_no_more();
}

FM_UP(shim_maps, fm_altstack_prepare)

void fm_altstack_prepare(void)
{
	if (!fm_engine_may_serve())
		return;
	atomic_store(&prepared, true);
	replace_kept();
}

int fm_altstack_take(void)
{
	fm_altstack_prepare();
	return atomic_load(&kept) ? -EBUSY : 0;
}

void fm_threads_come(void)
{
	atomic_store(&fm_threads, true);
	if (keeps && may_start())
		replace_kept();
}

bool fm_altstack_stands(void)
{
	const stack_t *ss = &instead.given;

	return keeps && (uintptr_t)__builtin_frame_address(0) -
				(uintptr_t)ss->ss_sp < ss->ss_size;
}

/*
 * When a handler returns the kernel sets the stack that the frame names, the
 * one that was set before the handler: what put_ours() did in it is undone. It
 * refuses while the frame's own stack is the one set: from Linux 6.12 on x86
 * it looks before it has left that stack. So ours is set here, where we stand
 * on neither, and named in the frame as well.
 */
void fm_altstack_fault(void *context)
{
	ucontext_t *uc = context;
	stack_t *ss = &uc->uc_stack;
	uintptr_t sp = fm_arch_sp(uc);

	if (!instead.sp || ss->ss_sp != instead.given.ss_sp ||
	    (ss->ss_flags & SS_DISABLE) ||
	    sp - (uintptr_t)ss->ss_sp < ss->ss_size)
		return;
	if (altstack_replace(ss))
		fm_sys2(SYS_sigaltstack, ss, NULL);
}

/* The only thread of the child goes on having its stack. */
void fm_altstack_fork_child(void)
{
	if (!mine && atomic_load(&kept) == keeps)
		return;
	FM_BLOCK_SIGNALS();
	atomic_store(&kept, keeps);
	if (mine)
		claim_stack(mine);
}

/* ---- the end of a thread ----------------------------------------------- */

static bool have_key;
static pthread_key_t key;

/* The number of this thread may be the next one's. While the kernel has the
 * stack it stays claimed and mapped, as later destructors may fault on it. */
static void at_end(void *unused)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	FM_BLOCK_SIGNALS();
	if (fm_sys2(SYS_sigaltstack, &none, NULL) == 0) {
		altstack_drop(mine);
		mine = 0;
		keep_no_more();
		if (large.sp)
			fm_sys_munmap(large.sp - GUARD, GUARD + large.size);
		large.sp = NULL;
		large.size = 0;
	}
}

/* glibc keeps the first 32 in the thread itself: to set one of these takes no
 * memory, so that a signal handler may. */
void fm_altstack_boot(void)
{
	have_key = pthread_key_create(&key, at_end) == 0 && key < 32;
}

/* ---- sigaltstack ------------------------------------------------------ */

/* The kernel's, or what is behind us. */
static int altstack_pass(bool raw, const stack_t *ss, stack_t *old)
{
	return FM_PASS_VIA(raw, sigaltstack, SYS_sigaltstack, ss, old);
}

/* What the kernel refuses is for the kernel to judge. */
static bool altstack_wanted(const stack_t *ss)
{
	return !(ss->ss_flags & SS_DISABLE) && ss->ss_sp &&
	       ss->ss_size >= MINSIGSTKSZ_KERNEL;
}

/* The kernel has taken what was asked for: may the stack stay? */
static void altstack_settle(const stack_t *ss)
{
	uintptr_t sp = 0;
	bool ours = false;

	keep_no_more();
	if (altstack_wanted(ss)) {
		if (ss->ss_size >= ALT_ENOUGH &&
		    claim_stack((uintptr_t)ss->ss_sp))
			sp = (uintptr_t)ss->ss_sp;
		else if (altstack_keep(ss))
			instead = (struct instead){ NULL, *ss };
		else
			ours = put_ours(ss);
	}
	if (sp != mine)
		altstack_drop(mine);
	mine = sp;
	if (have_key && (sp || keeps || ours))
		pthread_setspecific(key, &key);
}

static int altstack_change(bool raw, const stack_t *ss, stack_t *old)
{
	stack_t now;
	int r = altstack_pass(raw, ss, old);

	if (r || !fm_user_reread(&now, ss, sizeof(now)))
		return r;
	altstack_settle(&now);
	return 0;
}

/* Signals are off: a handler that calls us must find claim and stack agree. */
static int change_alone(bool raw, const stack_t *ss, stack_t *old)
{
	FM_BLOCK_SIGNALS();
	return altstack_change(raw, ss, old);
}

/* The program is told of the stack that it asked for. */
static void altstack_tell(stack_t *old, const struct instead *was)
{
	stack_t now;

	if (!was->sp || !fm_user_reread(&now, old, sizeof(now)) ||
	    now.ss_sp != was->sp)
		return;
	now.ss_sp = was->given.ss_sp;
	now.ss_size = was->given.ss_size;
	fm_user_rewrite(old, &now, sizeof(now));
}

static bool altstack_managed(const void *p)
{
	return p && fm_looks() && fm_data_in(p, sizeof(stack_t));
}

/*
 * A vfork child has the kernel's record of its parent's stack as its own, but
 * shares our records with the parent: what it sets goes to the kernel as it
 * is, claims nothing and ends no claim. It must not be given the parent's
 * slot, on which the parent may go on.
 */
int fm_do_sigaltstack(bool raw, const stack_t *ss, stack_t *old)
{
	const struct instead was = instead;
	stack_t in, out, *to = altstack_managed(old) ? &out : old;
	int r;

	if (!fm_on())
		return altstack_pass(raw, ss, old);
	if (altstack_managed(ss))
		ss = fm_user_read(&in, ss, sizeof(in)) ? &in : FM_NOWHERE;
	if (!ss || fm_whoami() == FM_VFORK_CHILD)
		r = altstack_pass(raw, ss, to);
	else
		r = change_alone(raw, ss, to);
	if (r || !to)
		return r;
	altstack_tell(to, &was);
	if (to != old && !fm_user_write(old, &out, sizeof(out)))
		return (int)fm_result(-EFAULT);
	return 0;
}
