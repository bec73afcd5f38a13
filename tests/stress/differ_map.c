/* SPDX-License-Identifier: MIT */
/* differ_map.c - calls of a worker of differ on its mappings. */
#include "differ_worker.h"

#include <signal.h>

static int some_prot(uint64_t x)
{
	return x % 8 == 0 ? PROT_NONE : x % 8 < 3 ? PROT_READ :
						    PROT_READ | PROT_WRITE;
}

static void fill_slot(struct slot *s, long first, long n, long at, int prot)
{
	for (long p = 0; p < n; p++) {
		s->at[first + p] = at == UNKNOWN ? UNKNOWN : at + p;
		s->prot[first + p] = prot;
	}
}

void op_mmap(void)
{
	struct slot *s = &slots[arg[0] % SLOTS];
	long off = (long)(arg[1] % (uint64_t)(PAGES - 1));
	long n = 1 + (long)(arg[2] % (uint64_t)(PAGES - off));
	int prot = some_prot(arg[3]), how = arg[4] % 3;
	int flags = is_shared(s) ? MAP_SHARED : MAP_PRIVATE;
	char *p;

	if (is_shared(s) && !plan->gentle && arg[5] % 8 == 0)
		flags |= MAP_POPULATE;
	if (s->addr) {
		munmap(s->addr, (size_t)(s->n * PAGE));
		s->addr = NULL;
	}
	p = how ? FLOOR + (s - slots) * ROOM : NULL;
	if (how)
		flags |= how == 1 ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	p = mmap(p, (size_t)(n * PAGE - (long)(arg[5] % 4096)), prot, flags, fd,
		 (off_t)plan->base + off * PAGE);
	result("mmap", p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	fill_slot(s, 0, n, off, prot);
	s->advised = false;
	s->n = n;
	s->addr = p;
}

void op_over(void)
{
	struct slot *s = some(arg[0]);
	long first, n, off, prot = some_prot(arg[4]);

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	off = (long)(arg[3] % (uint64_t)(PAGES - n + 1));
	result("over", mmap(s->addr + first * PAGE, (size_t)(n * PAGE),
			    (int)prot, MAP_FIXED |
			    (is_shared(s) ? MAP_SHARED : MAP_PRIVATE), fd,
			    (off_t)plan->base + off * PAGE) == MAP_FAILED ?
		       -1 : 0);
	fill_slot(s, first, n, off, (int)prot);
}

void op_munmap(void)
{
	struct slot *s = some(arg[0]);
	long first, n;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	/* Elsewhere a hole may become somebody's. */
	if (arg[3] % 3 == 0 || s->addr < FLOOR ||
	    s->addr >= FLOOR + SLOTS * ROOM) {
		first = 0;
		n = s->n;
	}
	result("munmap", munmap(s->addr + first * PAGE, (size_t)(n * PAGE)));
	fill_slot(s, first, n, UNKNOWN, 0);
	if (n == s->n)
		s->addr = NULL;
	else if (first + n == s->n)
		s->n = first;
}

void op_mprotect(void)
{
	struct slot *s = some(arg[0]);
	int prot = some_prot(arg[3]);
	long first, n;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	result("mprotect", mprotect(s->addr + first * PAGE, (size_t)(n * PAGE),
				    prot));
	for (long p = first; p < first + n; p++)
		s->prot[p] = prot;
}

static bool whole(const struct slot *s)
{
	for (long p = 0; p < s->n && !s->advised; p++)
		if (s->at[p] != s->at[0] + p || s->prot[p] != s->prot[0] ||
		    s->at[0] == UNKNOWN)
			return false;
	return !s->advised;
}

void op_mremap(void)
{
	struct slot *s = some(arg[0]);
	long n = 1 + (long)(arg[1] % (uint64_t)PAGES);
	char *to, *p;
	bool fixed = arg[2] % 2;

	if (!s || !whole(s) || s->at[0] + n > PAGES)
		return;
	to = FLOOR + (s - slots) * ROOM + ROOM / 2;
	if (s->addr == to)
		to -= ROOM / 2;
	p = mremap(s->addr, (size_t)(s->n * PAGE), (size_t)(n * PAGE),
		   MREMAP_MAYMOVE | (fixed ? MREMAP_FIXED : 0), to);
	result("mremap", p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	s->addr = NULL;
	fill_slot(s, 0, n, s->at[0], s->prot[0]);
	s->n = n;
	s->addr = p;
}

/* A second mapping of the same pages, by mremap. */
void op_double(void)
{
	struct slot *s = &slots[arg[0] % SHARED_SLOTS];
	struct slot *t = &slots[arg[1] % SHARED_SLOTS];
	bool stays = arg[2] % 2;
	char *p;

	if (!s->addr || t->addr || !whole(s))
		return;
	p = mremap(s->addr, stays ? (size_t)(s->n * PAGE) : 0,
		   (size_t)(s->n * PAGE),
		   MREMAP_MAYMOVE | MREMAP_FIXED |
			   (stays ? MREMAP_DONTUNMAP : 0),
		   FLOOR + (t - slots) * ROOM);
	result("mremap", p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	memcpy(t->at, s->at, sizeof(t->at));
	memcpy(t->prot, s->prot, sizeof(t->prot));
	t->advised = s->advised;
	t->n = s->n;
	t->addr = p;
}

void op_madvise(void)
{
	static const int gentle[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
		MADV_DONTNEED, MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT,
		MADV_FREE, MADV_REMOVE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_DONTDUMP, MADV_DODUMP, 4711,
	};
	static const int harsh[] = {
		MADV_DONTFORK, MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE,
		MADV_WIPEONFORK, MADV_KEEPONFORK, 21 /* COLD..LOCKED */, 24,
	};
	struct slot *s = some(arg[0]);
	long first, n, a;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	a = plan->gentle || arg[3] % 3 ? gentle[arg[3] % 15] :
					 harsh[arg[3] % 8];
	if (a == MADV_DONTFORK)
		a = MADV_DOFORK;
	if (a == MADV_REMOVE && arg[4] % 3)
		return;
	s->advised = true;
	result("madvise", madvise(s->addr + first * PAGE + (arg[5] % 32 == 0),
				  (size_t)(n * PAGE), (int)a));
}

void op_populate(void)
{
	struct slot *s = some(arg[0]);
	long first, n, last;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	for (last = first; last < first + n; last++)
		if (plan->gentle && s->at[last] >= end_page)
			return;
	result("populate", madvise(s->addr + first * PAGE, (size_t)(n * PAGE),
				   is_shared(s) && arg[3] % 2 ? 23 : 22));
}

void op_msync(void)
{
	static const int how[] = { MS_SYNC, MS_ASYNC, MS_INVALIDATE, 0,
				   MS_SYNC | MS_INVALIDATE, MS_SYNC | MS_ASYNC,
				   MS_ASYNC | MS_INVALIDATE, 64 };
	struct slot *s = some(arg[0]);
	long first, n;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	result("msync", msync(s->addr + first * PAGE, (size_t)(n * PAGE),
			      how[arg[3] % 8]));
}

void op_mincore(void)
{
	struct slot *s = some(arg[0]);
	unsigned char vec[PAGES];
	long first, n;

	if (range(s, arg[1], arg[2], &first, &n))
		result("mincore", mincore(s->addr + first * PAGE,
					  (size_t)(n * PAGE), vec));
}

void op_mlock(void)
{
	struct slot *s = some(arg[0]);
	long first, n;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	if (arg[3] % 2)
		result("mlock", mlock(s->addr + first * PAGE,
				      (size_t)(n * PAGE)));
	result("munlock", munlock(s->addr + first * PAGE, (size_t)(n * PAGE)));
}

void op_store(void)
{
	struct slot *s = some(arg[0]);
	long first, n, left;
	int sig = 0;

	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	for (long p = first; p < first + n && !sig; p++) {
		long from = p == first ? (long)(arg[3] % PAGE) : 0;

		left = before_end(s, p);
		if (from >= left)
			break;
		if (p == first + n - 1)
			left = from + 1 +
			       (long)(arg[4] % (uint64_t)(left - from));
		fill(heap, (size_t)(left - from), arg[5] + (uint64_t)p);
		sig = guarded(store, s->addr + p * PAGE + from, left - from);
	}
	say("store %d ", sig);
}

static void in_handler(int sig)
{
	struct slot *s = some(arg[0]);
	long p = s ? (long)(arg[1] % (uint64_t)s->n) : 0;

	(void)sig;
	if (s && s->at[p] < end_page && (s->prot[p] & PROT_WRITE) &&
	    s->at[p] != UNKNOWN)
		s->addr[p * PAGE] = (char)arg[2];
}

void op_raise(void)
{
	struct sigaction sa = { .sa_handler = in_handler };

	struct slot *s = some(arg[0]);

	note_end();
	if (s && is_shared(s) &&
	    before_end(s, (long)(arg[1] % (uint64_t)s->n)) < 1)
		return;
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}
