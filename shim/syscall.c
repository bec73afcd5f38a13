/* SPDX-License-Identifier: MIT */
/*
 * syscall.c - libc's syscall() with a number that we interpose under its own
 * name. entry.S jumps here for the numbers in the table, and makes every other
 * call itself, as it does all of them while the library is inert. Behind a hook
 * that is entered here is the kernel, as behind libc's syscall(): allocators,
 * which interpose mmap as we do, make their own calls so. Inline system call
 * instructions cannot be seen by anybody.
 */
#include "shim.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* io_syscall.c; -2: not concerned */
extern long fm_syscall_io(long nr, long a, long b, long c, long d, long e,
			  long f) __attribute__((weak));
/* creds.c */
extern long fm_syscall_creds(long nr, long a, long b, long c)
	__attribute__((weak));

/* Read by entry.S. */
__attribute__((visibility("hidden"))) unsigned char fm_syscall_hooked[FM_ROWS] = {
#define CALL(name, ...) [__NR_##name] = 1,
#define NONE(name)
#define LEFT(name, why)
#define SEEN(name) [__NR_##name] = 1,
#define OWN(name, where) [__NR_##name] = 1,
#define FORKS(name) [__NR_##name] = 2, /* only when fm_syscall_forks says so */
#include "calls.def"
};

FM_TLS unsigned fm_holds;

long fm_syscall_hook(long nr, long a, long b, long c, long d, long e, long f);
long fm_syscall_error(long r);

__attribute__((used, visibility("hidden"))) long fm_syscall_error(long r)
{
	return fm_result(r);
}

static long creds(long nr, long a, long b, long c)
{
	return fm_syscall_creds ? fm_syscall_creds(nr, a, b, c) : -2;
}

static long less(void)
{
	fm_before_less();
	return -2;
}

static long landlock(void)
{
	fm_fork_opens_less();
	return less();
}

/* ---- the hooks ---------------------------------------------------------- */

#define P(x) x
#define HOOKED FM_DO_HOOK
#define ALIAS FM_DO_ALIAS
#include "entered.def"
#undef P

/* ---- syscall() ---------------------------------------------------------- */

/* -2: none of these. */
static long syscall_entered(long nr, long a, long b, long c, long d, long e,
			    long f)
{
	switch (nr) {
#define P(x) ((void *)(x))
#define HOOKED FM_DO_CASE
#define ENTER FM_ENTER_CASE
#include "entered.def"
	}
	return -2;
}

__attribute__((used, visibility("hidden"))) long
fm_syscall_hook(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	if (fm_holds)
		return fm_result(fm_sys6(nr, a, b, c, d, e, f));
	r = syscall_entered(nr, a, b, c, d, e, f);
	if (r == -2 && fm_syscall_io)
		r = fm_syscall_io(nr, a, b, c, d, e, f);
	return r == -2 ? fm_result(fm_sys6(nr, a, b, c, d, e, f)) : r;
}
