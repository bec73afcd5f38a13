/* SPDX-License-Identifier: MIT */
/*
 * mm.c - mmap and its relatives. Each hook answers one question, "can this
 * touch managed memory?", in a few nanoseconds and without a lock, and then
 * either steps aside or makes one call into the engine. Allocators call these
 * names while holding their locks, signal handlers call them at any time.
 */
#include "mm.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

FM_NEXT_PATCHED(mmap)
FM_NEXT_PATCHED(munmap)
FM_NEXT(msync)
FM_NEXT_PATCHED(madvise)
FM_NEXT(posix_madvise)
FM_NEXT_PATCHED(mremap)
FM_NEXT_PATCHED(mprotect)
FM_NEXT_PATCHED(pkey_mprotect)
FM_NEXT_PATCHED(mincore)
FM_NEXT_PATCHED(mlock)
FM_NEXT_PATCHED(mlock2)
FM_NEXT_PATCHED(mseal)
FM_NEXT_PATCHED(munlock)
FM_NEXT_PATCHED(mlockall)
FM_NEXT(munlockall)
FM_NEXT_PATCHED(remap_file_pages)
FM_NEXT_PATCHED(process_madvise)

/* Anonymous memory concerns us only where it replaces managed pages. */
static bool mmap_is_foreign(void *addr, size_t len, int flags)
{
	if (!(flags & MAP_ANONYMOUS))
		return false;
	return !(flags & MAP_FIXED) || !managed(addr, len);
}

/* Something else is done to it. */
static bool mm_stays(int r)
{
	return false;
}

static void *map_foreign(bool raw, void *addr, size_t len, int prot, int flags,
			 int fd, off_t off)
{
	if (!(flags & MAP_FIXED))
		return FM_PASS_VIA(raw, mmap, SYS_mmap, addr, len, prot, flags,
				   fd, off);
	return FM_TAKES_RANGE(addr, len, is_mapped,
			      FM_PASS_VIA(raw, mmap, SYS_mmap, addr, len, prot,
					  flags, fd, off));
}

static void *mm_map(bool raw, void *addr, size_t len, int prot, int flags,
		    int fd, off_t off)
{
	uint64_t old;
	void *p;

	if (!fm_on() || mmap_is_foreign(addr, len, flags) ||
	    fm_altstack_stands())
		return map_foreign(raw, addr, len, prot, flags, fd, off);
	p = fm_mmap_window(addr, len, prot, flags, fd, off);
	if (p)
		return p;
	/* fm_mmap may not run in a signal handler on top of itself. */
	fm_block_signals(&old);
	p = fm_mmap(addr, len, prot, flags, fd, off);
	fm_restore_signals(&old);
	return (void *)fm_result((long)p);
}

void *fm_do_mmap(bool raw, void *addr, size_t len, int prot, int flags, int fd,
		 off_t off)
{
	if (!(flags & MAP_FIXED))
		return mm_map(raw, addr, len, prot, flags, fd, off);
	return TAKES_PAGES(FM_TAKES_RANGE(
		addr, len, is_mapped,
		mm_map(raw, addr, len, prot, flags, fd, off)));
}

/* For fastmap_map; a handler of the program does not call it. */
static void *map_asked(void *addr, size_t len, int prot, int flags, int fd,
		       off_t off)
{
	uint64_t old;
	void *p;

	if (!fm_on() || mmap_is_foreign(addr, len, flags))
		return map_foreign(false, addr, len, prot, flags, fd, off);
	fm_block_signals(&old);
	p = fm_mmap_asked(addr, len, prot, flags, fd, off);
	fm_restore_signals(&old);
	return (void *)fm_result((long)p);
}

void *fm_do_map_asked(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off)
{
	if (!(flags & MAP_FIXED))
		return map_asked(addr, len, prot, flags, fd, off);
	return TAKES_PAGES(FM_TAKES_RANGE(
		addr, len, is_mapped,
		map_asked(addr, len, prot, flags, fd, off)));
}

static int unmap(bool raw, void *addr, size_t len)
{
	uint64_t blind[FM_SHORT_MAPS];
	bool any = fm_short_map_in(addr, len, blind);
	int r;

	fm_fork_unmaps(addr, len);
	fm_warm_unmaps(addr, len);
	if (managed(addr, len))
		r = (int)fm_result(fm_munmap(addr, len));
	else
		r = FM_TAKES_RANGE(addr, len, fm_is_zero,
				   FM_PASS_VIA(raw, munmap, SYS_munmap, addr,
					       len));
	if (any && !r)
		fm_short_map_forget(blind);
	return r;
}

/* What the kernel serves is marked and unmarked, each time under a lock:
 * signals are blocked once for all. Not in a child of vfork: it may be killed
 * in the middle, and has our memory. */
static bool mm_is_noted(void *addr, size_t len)
{
	return fm_krange_in(addr, len) && !managed(addr, len) &&
	       fm_whoami() == FM_ME;
}

int fm_do_munmap(bool raw, void *addr, size_t len)
{
	const bool noted = mm_is_noted(addr, len);
	uint64_t mask;
	int r;

	if (noted)
		fm_block_signals(&mask);
	r = TAKES_PAGES(
		FM_TAKES_RANGE(addr, len, fm_is_zero, unmap(raw, addr, len)));
	if (noted)
		fm_restore_signals(&mask);
	return r;
}

/* What is kept of a mapping stays: a call that begins before the engine takes
 * memory back is waited for, one that begins later finds it managed. */
static bool mm_counts(void *addr, size_t len)
{
	const struct iovec v = { addr, len };

	return fm_krange_any() && fm_counted_calls_begins(&v, 1);
}

int fm_do_msync(bool raw, void *addr, size_t len, int flags)
{
	const bool counted = mm_counts(addr, len);
	int r;

	if (!counted && managed(addr, len)) {
		if (!raw)
			pthread_testcancel(); /* msync is one of its points */
		return (int)fm_result(fm_msync(addr, len, flags));
	}
	r = FM_PASS_VIA(raw, msync, SYS_msync, addr, len, flags);
	if (counted)
		fm_counted_calls_ends();
	return r;
}

/* By the engine, or by the kernel with a note: *ret is 0 or -errno. False: the
 * kernel is to be asked, *ret_counted meanwhile. */
static bool mm_advised(void *addr, size_t len, int advice, bool *ret_counted,
		       int *ret)
{
	*ret_counted = false;
	if (fm_krange_any() && fm_krange_says(addr, len, advice, ret))
		return true;
	*ret_counted = mm_counts(addr, len);
	if (*ret_counted || !managed(addr, len))
		return false;
	*ret = fm_madvise(addr, len, advice);
	return true;
}

static int mm_advise(bool raw, void *addr, size_t len, int advice)
{
	bool counted;
	int r;

	if (mm_advised(addr, len, advice, &counted, &r))
		return (int)fm_result(r);
	r = FM_PASS_VIA(raw, madvise, SYS_madvise, addr, len, advice);
	if (r && advice == MADV_DONTNEED && errno == EINVAL && fm_krange_any())
		r = (int)fm_result(fm_krange_dontneed(addr, len));
	if (counted)
		fm_counted_calls_ends();
	return r;
}

/* Since Linux 6.13; of the others none makes a load fail with SIGSEGV. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

int fm_do_madvise(bool raw, void *addr, size_t len, int advice)
{
	if (advice != MADV_GUARD_INSTALL)
		return mm_advise(raw, addr, len, advice);
	fm_krange_kept(addr, len);
	return TAKES_PAGES(mm_advise(raw, addr, len, advice));
}

/* Returns the error number and leaves errno alone. POSIX_MADV_DONTNEED must
 * not lose data and does nothing in glibc. */
static int advise_posix(void *addr, size_t len, int advice)
{
	if (FM_FOUND(posix_madvise))
		return FM_FOUND(posix_madvise)(addr, len, advice);
	if (advice == POSIX_MADV_DONTNEED)
		return 0;
	return -fm_sys_madvise(addr, len, advice);
}

FM_HOOK int posix_madvise(void *addr, size_t len, int advice)
{
	bool counted = false;
	int r;

	if (advice == POSIX_MADV_DONTNEED && managed(addr, len))
		return 0;
	if (advice != POSIX_MADV_DONTNEED &&
	    mm_advised(addr, len, advice, &counted, &r))
		return -r;
	r = advise_posix(addr, len, advice);
	if (counted)
		fm_counted_calls_ends();
	return r;
}

static void *move_any(bool raw, void *old, size_t old_len, size_t new_len,
		      int flags, void *new_addr)
{
	fm_short_map_moves(old, old_len ? old_len : 1);
	/* old_len 0 duplicates the mapping at `old`. */
	if (!managed(old, old_len ? old_len : 1) &&
	    !((flags & MREMAP_FIXED) && managed(new_addr, new_len)))
		return FM_MOVES_RANGE(old, old_len, new_len, flags, new_addr,
				      FM_PASS_VIA(raw, mremap, SYS_mremap, old,
						  old_len, new_len, flags,
						  new_addr));
	return (void *)fm_result(
		(long)fm_mremap(old, old_len, new_len, flags, new_addr));
}

void *fm_do_mremap(bool raw, void *old, size_t old_len, size_t new_len,
		   int flags, void *new_addr)
{
	return TAKES_PAGES(FM_MOVES_RANGE(
		old, old_len, new_len, flags, new_addr,
		move_any(raw, old, old_len, new_len, flags, new_addr)));
}

FM_HOOK void *mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	void *new_addr = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED) {
		va_start(ap, flags);
		new_addr = va_arg(ap, void *);
		va_end(ap);
	}
	return fm_do_mremap(false, old, old_len, new_len, flags, new_addr);
}

static int mm_protect(bool raw, void *addr, size_t len, int prot)
{
	int r;

	if (managed(addr, len))
		return (int)fm_result(fm_mprotect(addr, len, prot));
	r = FM_PASS_VIA(raw, mprotect, SYS_mprotect, addr, len, prot);
	if (!r)
		fm_patches_seen(addr, len, prot);
	if (!r && fm_krange_any())
		fm_krange_protected(addr, len, prot);
	return r;
}

int fm_do_mprotect(bool raw, void *addr, size_t len, int prot)
{
	return TAKES_PAGES(FM_TAKES_RANGE(addr, len, mm_stays,
					  mm_protect(raw, addr, len, prot)));
}

/* The kernel judges and sets the key, the engine learns the protection. What a
 * key shuts off is not to be had by threads of ours: the kernel serves it. */
static int protect_key(bool raw, void *addr, size_t len, int prot, int pkey)
{
	long r;

	if (pkey == -1)
		return mm_protect(raw, addr, len, prot);
	fm_krange_kept(addr, len);
	if (!managed(addr, len))
		return FM_PASS_VIA(raw, pkey_mprotect, SYS_pkey_mprotect, addr,
				   len, prot, pkey);
	r = pkey > 0 ? fm_demote_range(addr, len, FM_WHY_PKEYS) : 0;
	if (!r)
		r = fm_syscall(SYS_pkey_mprotect, addr, len, prot, pkey);
	if (!r && managed(addr, len))
		r = fm_mprotect(addr, len, prot);
	return (int)fm_result(r);
}

int fm_do_pkey_mprotect(bool raw, void *addr, size_t len, int prot, int pkey)
{
	return TAKES_PAGES(protect_key(raw, addr, len, prot, pkey));
}

#define UNTOLD 2 /* no answer of the kernel's */

static size_t mm_told(const unsigned char *piece, size_t most)
{
	size_t n = 0;

	while (n < most && piece[n] != UNTOLD)
		n++;
	return n;
}

/* The kernel's answer is that of the arguments alone. */
static bool is_odd(const void *addr, size_t len)
{
	return ((uintptr_t)addr & 4095) || !len || len >= FM_ARCH_END;
}

/* `vec` may itself lie in managed memory, where the engine must not fault
 * while it looks at its tables: answer into our stack first. Before it says
 * ENOMEM the kernel answers for what is mapped. */
int fm_do_mincore(bool raw, void *addr, size_t len, unsigned char *vec)
{
	unsigned char piece[1024];
	const size_t step = sizeof(piece) * 4096;
	size_t done = 0;
	int r;

	if (is_odd(addr, len) || !managed(addr, len))
		return FM_PASS_VIA(raw, mincore, SYS_mincore, addr, len, vec);
	do {
		size_t n = len - done < step ? len - done : step;

		memset(piece, UNTOLD, sizeof(piece));
		r = fm_mincore((char *)addr + done, n, piece);
		if (!fm_user_write(vec + done / 4096, piece,
				   mm_told(piece, (n + 4095) / 4096)))
			return (int)fm_result(-EFAULT);
		if (r < 0)
			return (int)fm_result(r);
		done += n;
	} while (done < len);
	return 0;
}

int fm_do_mlock(bool raw, const void *addr, size_t len)
{
	fm_krange_locked(addr, len);
	if (!managed(addr, len))
		return FM_PASS_VIA(raw, mlock, SYS_mlock, addr, len);
	return (int)fm_result(fm_mlock(addr, len, 0));
}

int fm_do_mlock2(bool raw, const void *addr, size_t len, unsigned int flags)
{
	fm_krange_locked(addr, len);
	if (!managed(addr, len))
		return FM_PASS_VIA(raw, mlock2, SYS_mlock2, addr, len, flags);
	return (int)fm_result(fm_mlock(addr, len, flags));
}

/* What is sealed can be neither hidden nor handed to the kernel any more. */
int fm_do_mseal(bool raw, void *addr, size_t len, unsigned long flags)
{
	fm_krange_kept(addr, len);
	if (!flags && managed(addr, len) &&
	    fm_demote_range(addr, len, FM_WHY_MSEAL))
		return (int)fm_result(-ENOMEM);
	return FM_PASS_VIA(raw, mseal, SYS_mseal, addr, len, flags);
}

static int mm_unlock(bool raw, const void *addr, size_t len)
{
	if (!managed(addr, len))
		return FM_PASS_VIA(raw, munlock, SYS_munlock, addr, len);
	return (int)fm_result(fm_munlock(addr, len));
}

int fm_do_munlock(bool raw, const void *addr, size_t len)
{
	const int r = mm_unlock(raw, addr, len);

	if (!r && fm_krange_any())
		fm_krange_unlocked(addr, len);
	return r;
}

int fm_do_mlockall(bool raw, int flags)
{
	if (!fm_on())
		return FM_PASS_VIA(raw, mlockall, SYS_mlockall, flags);
	return (int)fm_result(fm_mlockall(flags));
}

int fm_do_munlockall(bool raw)
{
	if (!fm_on())
		return !raw && FM_FOUND(munlockall) ? FM_FOUND(munlockall)() :
			(int)fm_result(fm_sys0(SYS_munlockall));
	return (int)fm_result(fm_munlockall());
}

FM_HOOK int munlockall(void)
{
	return fm_do_munlockall(false);
}

static int remap(bool raw, void *addr, size_t size, int prot, size_t pgoff,
		 int flags)
{
	if (fm_krange_any())
		fm_krange_one(addr, size);
	if (!managed(addr, size))
		return FM_PASS_VIA(raw, remap_file_pages, SYS_remap_file_pages,
				   addr, size, prot, pgoff, flags);
	return (int)fm_result(
		fm_remap_file_pages(addr, size, prot, pgoff, flags));
}

int fm_do_remap_file_pages(bool raw, void *addr, size_t size, int prot,
			   size_t pgoff, int flags)
{
	return TAKES_PAGES(
		FM_TAKES_RANGE(addr, size, fm_is_zero,
			    remap(raw, addr, size, prot, pgoff, flags)));
}

/* Linux 6.14: this thread, this process */
#define SELF_THREAD (-10000)
#define SELF_PROCESS (-10001)

/* Does this pidfd name our own process, or a thread of it? */
static bool pidfd_is_self(int pidfd)
{
	char path[64], text[512], *field;
	ssize_t n;
	int fd;

	if (pidfd == SELF_THREAD || pidfd == SELF_PROCESS)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = fm_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	n = fm_sys3(SYS_read, fd, text, sizeof(text) - 1);
	fm_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	field = strstr(text, "\nPid:");
	return field && !fm_syscall(SYS_tgkill, fm_sys_getpid(),
				    strtol(field + 5, NULL, 10), 0);
}

static bool any_managed(const struct iovec *iov, size_t n)
{
	for (size_t i = 0; fm_active() && i < n; i++)
		if (fm_overlaps(iov[i].iov_base, iov[i].iov_len))
			return true;
	return false;
}

/* One range at a time, so that managed ones take the engine's path; like the
 * kernel, report the bytes advised before the first failure. */
static ssize_t advise_each(int pidfd, const struct iovec *iov, size_t n,
			   int advice, unsigned int flags)
{
	ssize_t done = 0;

	for (size_t i = 0; i < n; i++) {
		long r = fm_syscall(SYS_process_madvise, pidfd, NULL, 0,
				    advice, flags);

		if (!r && fm_overlaps(iov[i].iov_base, iov[i].iov_len))
			r = fm_madvise(iov[i].iov_base, iov[i].iov_len, advice);
		else if (!r)
			r = fm_syscall(SYS_process_madvise, pidfd, &iov[i], 1,
				       advice, flags);
		if (r < 0)
			return done ? done : fm_result(r);
		done += (ssize_t)iov[i].iov_len;
	}
	return done;
}

static ssize_t advise_process(bool raw, int pidfd, const struct iovec *iov,
			      size_t n, int advice, unsigned int flags)
{
	struct fm_vec v;
	ssize_t r;
	int e;

	if (!fm_active() || !n || n > IOV_MAX)
		return FM_PASS_VIA(raw, process_madvise, SYS_process_madvise,
				   pidfd, iov, n, advice, flags);
	e = fm_vec_read(&v, iov, n);
	if (e == -ENOMEM)
		return fm_result(e);
	for (size_t i = 0; !e && i < n; i++) /* it may be our own */
		fm_krange_kept(v.iov[i].iov_base, v.iov[i].iov_len);
	if (!e && any_managed(v.iov, n) && pidfd_is_self(pidfd))
		r = advise_each(pidfd, v.iov, n, advice, flags);
	else
		r = FM_PASS_VIA(raw, process_madvise, SYS_process_madvise,
				pidfd, e ? FM_NOWHERE : v.iov, n, advice,
				flags);
	fm_vec_free(&v, n);
	return r;
}

ssize_t fm_do_process_madvise(bool raw, int pidfd, const struct iovec *iov,
			      size_t n, int advice, unsigned int flags)
{
	if (advice != MADV_GUARD_INSTALL)
		return advise_process(raw, pidfd, iov, n, advice, flags);
	return TAKES_PAGES(advise_process(raw, pidfd, iov, n, advice, flags));
}
