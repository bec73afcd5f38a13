/* SPDX-License-Identifier: MIT */
#include "lock_check.h"

#ifdef FM_LOCK_CHECK

#include <signal.h>

#include "sys.h"
#include "types.h"

#define HELD 16
#define RUNS 24

/* What this thread holds. Locks one by one; pages as runs of neighbours, for
 * a thread may hold all of a file. */
struct held_range {
	uintptr_t lo, hi;
};

struct held {
	struct {
		const void *lock;
		enum fm_rank rank;
	} v[HELD];
	unsigned n;
	struct held_range run[RUNS];
	unsigned nruns;
	uint64_t pages;
	bool blurred; /* more runs than fit: until no page is held any more */
};

static _Thread_local struct held held
	__attribute__((tls_model("initial-exec")));

static const char *const names[FM_RANKS] = {
	[FM_RANK_TABLE] = "table",	 [FM_RANK_HEAR] = "hear",
	[FM_RANK_CHANGE] = "change",	 [FM_RANK_SETTINGS] = "settings",
	[FM_RANK_SPACE] = "space",
	[FM_RANK_STREAM] = "stream",	 [FM_RANK_PAGE] = "page",
	[FM_RANK_BOUNCE] = "bounce buffer", [FM_RANK_RING] = "ring",
	[FM_RANK_WITNESS] = "witness",	 [FM_RANK_HOME] = "home ring",
	[FM_RANK_METRICS] = "metrics",	 [FM_RANK_REPORT] = "report",
	[FM_RANK_UNSERVED] = "unserved",	 [FM_RANK_OF_TABLES] = "table",
	[FM_RANK_LOST] = "lost",	 [FM_RANK_ALLOC] = "allocator",
	[FM_RANK_SIGNAL] = "signal",	 [FM_RANK_LEAF] = "leaf",
};

static FM_FAULT char *add_word(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	return to;
}

static FM_FAULT char *put_hex(char *to, const void *lock)
{
	uintptr_t v = (uintptr_t)lock;

	to = add_word(to, " 0x");
	for (int shift = 44; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[v >> shift & 15];
	return to;
}

/* No handler of the program's: a core of this thread, here. */
static FM_FAULT _Noreturn void die(const char *what, enum fm_rank rank,
				   const void *lock, enum fm_rank other,
				   const void *other_lock)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} none = { 0 };
	uint64_t abrt = 1ull << (SIGABRT - 1);
	char line[160], *p = add_word(line, "fastmap: lock order: ");

	p = put_hex(add_word(p, names[rank]), lock);
	p = add_word(p, what);
	p = put_hex(add_word(p, names[other]), other_lock);
	*p++ = '\n';
	fm_sys3(SYS_write, 2, line, p - line);
	fm_sys4(SYS_rt_sigaction, SIGABRT, &none, NULL, 8);
	fm_sys4(SYS_rt_sigprocmask, 1 /* SIG_UNBLOCK */, &abrt, NULL, 8);
	fm_sys3(SYS_tgkill, fm_sys_getpid(), fm_sys_gettid(), SIGABRT);
	for (;;)
		__builtin_trap();
}

static FM_FAULT unsigned depth(enum fm_rank rank)
{
	return rank ? rank : FM_RANK_OF_TABLES;
}

#define WHILE " is waited for while holding "

FM_FAULT void fm_check_ask(const void *lock, enum fm_rank rank)
{
	for (unsigned i = 0; i < held.n; i++)
		if (depth(held.v[i].rank) >= depth(rank))
			die(WHILE, rank, lock, held.v[i].rank, held.v[i].lock);
	if (held.pages && depth(rank) <= FM_RANK_PAGE)
		die(WHILE, rank, lock, FM_RANK_PAGE, (void *)held.run[0].lo);
}

FM_FAULT void fm_check_got(const void *lock, enum fm_rank rank)
{
	if (held.n == HELD)
		die(" is one lock too many, with ", rank, lock,
		    held.v[0].rank, held.v[0].lock);
	held.v[held.n].lock = lock;
	held.v[held.n++].rank = rank;
}

/* Locks that the child of fork has simply reset, or that another thread has
 * handed on, are not found. */
FM_FAULT void fm_check_put(const void *lock)
{
	for (unsigned i = held.n; i-- > 0;)
		if (held.v[i].lock == lock) {
			held.v[i] = held.v[--held.n];
			return;
		}
}

/* ---- pages ------------------------------------------------------------- */

/* Directories are aligned in this build, see leaf_new in file.c. */
static FM_FAULT const struct fm_leaf *leaf_of(uintptr_t page)
{
	return (const struct fm_leaf *)(page & ~(FM_LEAF_ALIGN - 1));
}

static FM_FAULT bool comes_later(uintptr_t page, uintptr_t than)
{
	const struct fm_leaf *a = leaf_of(page), *b = leaf_of(than);

	if (a == b)
		return page > than;
	return a->file != b->file ? a->file > b->file :
				    a->number > b->number;
}

FM_FAULT void fm_check_page_ask(const _Atomic uint8_t *page)
{
	uintptr_t p = (uintptr_t)page;

	for (unsigned i = 0; i < held.n; i++)
		if (depth(held.v[i].rank) > FM_RANK_PAGE)
			die(WHILE, FM_RANK_PAGE, (void *)p, held.v[i].rank,
			    held.v[i].lock);
	for (unsigned i = 0; i < held.nruns && !held.blurred; i++)
		if (!comes_later(p, held.run[i].hi))
			die(WHILE, FM_RANK_PAGE, (void *)p, FM_RANK_PAGE,
			    (void *)held.run[i].hi);
}

static FM_FAULT void add_run(uintptr_t lo, uintptr_t hi)
{
	if (lo > hi)
		return;
	if (held.nruns == RUNS)
		held.blurred = true;
	else
		held.run[held.nruns++] = (struct held_range){ lo, hi };
}

FM_FAULT void fm_check_page_got(const _Atomic uint8_t *page)
{
	uintptr_t p = (uintptr_t)page;

	if (!held.pages++) {
		held.nruns = 0;
		held.blurred = false;
	}
	for (unsigned i = 0; i < held.nruns; i++)
		if (p == held.run[i].hi + 1) {
			held.run[i].hi = p;
			return;
		}
	add_run(p, p);
}

FM_FAULT void fm_check_page_put(const _Atomic uint8_t *page)
{
	uintptr_t p = (uintptr_t)page;
	unsigned i = 0;
	struct held_range r;

	while (i < held.nruns && (p < held.run[i].lo || p > held.run[i].hi))
		i++;
	if (!held.pages || (i == held.nruns && !held.blurred))
		die(" is unlocked without being held; last held was",
		    FM_RANK_PAGE, (void *)p, FM_RANK_PAGE,
		    (void *)held.run[0].lo);
	held.pages--;
	if (i == held.nruns)
		return;
	r = held.run[i];
	held.run[i] = held.run[--held.nruns];
	add_run(r.lo, p - 1);
	add_run(p + 1, r.hi);
}

#endif
