/* SPDX-License-Identifier: MIT */
/*
 * user.c - memory of the program that may not be there.
 *
 * SIGSEGV is the program's, so that a load cannot be tried. The kernel is
 * asked, by a call that reads eight bytes and then finds its other argument
 * wrong: rt_sigprocmask, no dearer than getpid, an eighth of process_vm_readv.
 * Only a thread that unmaps the page between this and the load could still make
 * it fault. What ends in SIGBUS, as memory beyond the end of a file does, ends
 * the copy (fm_copy_try, entry.S).
 *
 * Most of what calls are given lies on the stack of the thread, above the frame
 * of the hook. Pages between two that were there are asked about once, until
 * memory is unmapped or protected: a thread has a window of pages that were
 * there when it asked. While a call that may take pages away is under way no
 * window counts, nor does one that was looked at before or during it: `taken`
 * counts those calls, above those under way. A second window has pages that
 * could be stored to.
 */
#include "user.h"
#include "shim.h"

#include <string.h>

/* io_guard.c: of managed memory, what could be used; brings it in. Not in the
 * unit test of the shim, where an access does. */
extern size_t fm_usable(const void *p, size_t len, bool in)
	__attribute__((weak));
/* entry.S: returns how much is left where memory could not be used. */
size_t fm_copy_try(void *to, const void *from, size_t n);

#define PAGE ((uintptr_t)4096)
#define STACK_PAGES 16

#define UNDER_WAY ((uint64_t)1 << 32)

static _Atomic uint64_t taken;
static _Atomic bool known; /* some thread has a window, or is about to */

struct window {
	uintptr_t from, to; /* pages that are there */
	uint64_t at;        /* taken, then */
};
static FM_TLS struct window readable_pages, writable_pages;
static FM_TLS bool busy; /* with a window: a signal handler keeps off */

bool fm_user_unmaps(void)
{
	if (!atomic_load(&known))
		return false;
	atomic_fetch_add(&taken, UNDER_WAY);
	return true;
}

/* Who sees no window here, after the pages went, none was made before they
 * did. */
void fm_user_unmapped(bool counted)
{
	if (counted)
		atomic_fetch_sub(&taken, UNDER_WAY - 1);
	else if (atomic_load(&known))
		atomic_fetch_add(&taken, 1);
}

void fm_user_fork_child(void)
{
	atomic_fetch_and(&taken, UNDER_WAY - 1); /* other threads' calls */
}

/* What a window that is made now is to say; before the first page is asked
 * about. */
static uint64_t moment(void)
{
	if (!atomic_load_explicit(&known, memory_order_relaxed))
		atomic_store(&known, true);
	return atomic_load(&taken);
}

static bool take_windows(void)
{
	if (busy)
		return false;
	busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static void give_windows(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	busy = false;
}

static bool in_window(const struct window *w, uintptr_t from, uintptr_t to,
		      uint64_t at)
{
	bool is;

	if (at >= UNDER_WAY || !take_windows())
		return false;
	is = w->at == at && from >= w->from && to <= w->to;
	give_windows();
	return is;
}

static bool page_is_there(uintptr_t page)
{
	return fm_sys4(SYS_rt_sigprocmask, -1, page, NULL, 8) != -EFAULT;
}

static bool pages_are_there(uintptr_t from, uintptr_t to)
{
	for (from &= ~(PAGE - 1); from < to; from += PAGE)
		if (!page_is_there(from))
			return false;
	return true;
}

/* Widens the window, or moves it: coroutines have stacks of their own. `at`:
 * from before the pages were asked about. */
static void user_remember(struct window *w, uintptr_t from, uintptr_t to,
			  uint64_t at)
{
	bool joins;

	if (at >= UNDER_WAY || !take_windows())
		return;
	joins = w->at == at && from <= w->to && to >= w->from;
	if (!joins || w->from > from)
		w->from = from;
	if (!joins || w->to < to)
		w->to = to;
	w->at = at;
	give_windows();
}

static bool near_stack(uintptr_t p, uintptr_t end)
{
	const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	return p >= sp && end - sp <= STACK_PAGES * PAGE;
}

/* In the page of the stack that we run on, above this frame. */
static bool in_frame_page(uintptr_t p, uintptr_t end)
{
	const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	return p >= sp && end <= (sp & ~(PAGE - 1)) + PAGE;
}

/* Above this frame, on the stack that we run on? */
static bool on_stack(uintptr_t p, uintptr_t end)
{
	const uintptr_t low =
		(uintptr_t)__builtin_frame_address(0) & ~(PAGE - 1);
	uint64_t at;

	if (in_frame_page(p, end))
		return true;
	if (!near_stack(p, end))
		return false;
	at = moment();
	if (in_window(&readable_pages, low, end, at))
		return true;
	if (!pages_are_there(low, end))
		return false;
	user_remember(&readable_pages, low, (end + PAGE - 1) & ~(PAGE - 1), at);
	return true;
}

static bool user_is_ours(const void *p, size_t n)
{
	return fm_active() && fm_overlaps(p, n);
}

/* Beside managed pages. */
static bool others_are_there(uintptr_t from, uintptr_t to)
{
	for (from &= ~(PAGE - 1); from < to; from += PAGE)
		if (!user_is_ours((void *)from, PAGE) && !page_is_there(from))
			return false;
	return true;
}

/* Every page of it can be read. A confined thread may not be allowed to ask. */
static bool readable(const void *p, size_t n)
{
	const uintptr_t at = (uintptr_t)p;

	if (at < PAGE || at + n < at)
		return false;
	if (user_is_ours(p, n))
		return (!fm_usable || fm_usable(p, n, false) == n) &&
		       others_are_there(at, at + n);
	return on_stack(at, at + n) || fm_sys_confined() ||
	       pages_are_there(at, at + n);
}

/* It may become ours before the copy has ended. */
static bool user_passes(const void *p, size_t n)
{
	const struct iovec v = { (void *)(uintptr_t)p, n };

	return fm_counted_calls_begins(&v, 1);
}

bool fm_user_read(void *to, const void *from, size_t n)
{
	const bool passing = user_passes(from, n);
	bool ok = !n || (readable(from, n) && !fm_copy_try(to, from, n));

	if (passing)
		fm_counted_calls_ends();
	return ok;
}

bool fm_user_reread(void *to, const void *from, size_t n)
{
	return !fm_copy_try(to, from, n);
}

bool fm_user_rewrite(void *to, const void *from, size_t n)
{
	return !fm_copy_try(to, from, n);
}

/* Whether a page can be stored to only a store tells: the kernel's. */
static bool kernel_writes(void *to, const void *from, size_t n)
{
	struct iovec l = { (void *)(uintptr_t)from, n }, r = { to, n };
	long done = fm_sys6(SYS_process_vm_writev, fm_my_pid(), (long)&l, 1,
			    (long)&r, 1, 0);

	if (done == -EPERM || done == -ENOSYS) /* a sandbox */
		return readable(to, n) && !fm_copy_try(to, from, n);
	return done == (long)n;
}

/* Of one page. That it can be read, or lies on the stack, does not say that it
 * may be stored to: behind a stack may lie anything. */
static bool user_write_page(void *to, const void *from, size_t n)
{
	const uintptr_t p = (uintptr_t)to, page = p & ~(PAGE - 1);
	uint64_t at;

	if (user_is_ours(to, n))
		return (!fm_usable || fm_usable(to, n, true) == n) &&
		       !fm_copy_try(to, from, n);
	if (fm_sys_confined() || in_frame_page(p, p + n))
		return !fm_copy_try(to, from, n);
	if (!near_stack(p, p + n))
		return kernel_writes(to, from, n);
	at = moment();
	if (in_window(&writable_pages, p, p + n, at))
		return !fm_copy_try(to, from, n);
	if (!kernel_writes(to, from, n))
		return false;
	user_remember(&writable_pages, page, page + PAGE, at);
	return true;
}

static bool write_pages(void *to, const void *from, size_t n)
{
	for (size_t done = 0, step; done < n; done += step) {
		step = PAGE - (((uintptr_t)to + done) & (PAGE - 1));
		step = fm_least(step, n - done);
		if (!user_write_page((char *)to + done,
				     (const char *)from + done, step))
			return false;
	}
	return true;
}

bool fm_user_write(void *to, const void *from, size_t n)
{
	const bool passing = user_passes(to, n);
	bool ok = write_pages(to, from, n);

	if (passing)
		fm_counted_calls_ends();
	return ok;
}

ssize_t fm_user_strnlen(const char *s, size_t max)
{
	char piece[256];
	size_t done = 0;

	while (done < max) {
		const char *end, *p = s + done;
		size_t n = PAGE - ((uintptr_t)p & (PAGE - 1));

		n = fm_least(fm_least(n, sizeof(piece)), max - done);
		if (!fm_user_read(piece, p, n))
			return -1;
		end = memchr(piece, 0, n);
		if (end)
			return (ssize_t)(done + (size_t)(end - piece));
		done += n;
	}
	return -1;
}

int fm_vec_read(struct fm_vec *v, const struct iovec *iov, size_t n)
{
	struct iovec *to = v->few;

	v->many = NULL;
	if (n > sizeof(v->few) / sizeof(*v->few))
		to = v->many = fm_sys_anon(n * sizeof(*iov));
	if (!to)
		return -ENOMEM;
	v->iov = to;
	if (fm_user_read(to, iov, n * sizeof(*iov)))
		return 0;
	fm_vec_free(v, n);
	return -EFAULT;
}

void fm_vec_free(struct fm_vec *v, size_t n)
{
	if (v->many)
		fm_sys_munmap(v->many, n * sizeof(*v->iov));
	v->many = NULL;
}
