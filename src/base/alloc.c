/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - a private jemalloc (src/private.sh) behind one lock of ours.
 *
 * The lock replaces all of jemalloc's own, so that holding it is all that
 * fork needs, and jemalloc's imports end here instead of in libc: memory by
 * raw system calls, no environment, no threads.
 */
#include "alloc.h"

#include <string.h>

#include "early.h"
#include "lock.h"

static struct fm_lock lock = FM_LOCK(FM_RANK_ALLOC);

void fm_alloc_lock(void)
{
	fm_lock_quietly(&lock);
}

void fm_alloc_unlock(void)
{
	fm_unlock(&lock);
}

/* What a call must leave as it found it: the allocator sets errno freely. */
struct caller {
	uint64_t mask;
	int err;
};

static struct caller alloc_enter(void)
{
	struct caller c = { .err = errno };

	fm_block_signals(&c.mask);
	fm_lock_quietly(&lock);
	return c;
}

static void end_begun(void);

static void alloc_leave(const struct caller *c)
{
	end_begun();
	fm_unlock(&lock);
	fm_restore_signals(&c->mask);
	errno = c->err;
}

#ifdef FM_ALLOC_LIBC

#include <stdlib.h>

#define raw_calloc calloc
#define raw_realloc realloc
#define raw_free free

static void end_begun(void)
{
}

static bool may_begin(void)
{
	return true;
}

static void worked(const void *p)
{
}

static bool is_early(void)
{
	return false;
}

#else

#include <stdarg.h>

#define raw_calloc fm_je_calloc
#define raw_realloc fm_je_realloc
#define raw_free fm_je_free

void *fm_je_calloc(size_t n, size_t size);
void *fm_je_realloc(void *p, size_t size);
void fm_je_free(void *p);

/* Strong definition over jemalloc's weak one. */
extern const char *fm_je_malloc_conf;
const char *fm_je_malloc_conf =
	"narenas:1,tcache:false,background_thread:false,dss:disabled,"
	"thp:never,metadata_thp:disabled,dirty_decay_ms:1000,muzzy_decay_ms:0";

/* What jemalloc expects of libc, but for errno, which decides nothing there:
 * its constructor runs outside of enter() and leave(), and main must find 0. */
static long libc_result(long r)
{
	return (unsigned long)r < (unsigned long)-4095 ? r : -1;
}

void *fm_je_mmap(void *addr, size_t len, int prot, int flags, int fd,
		 off_t off);
/* jemalloc's constructor tries MADV_DONTNEED on a page of its own, and stores
 * to that page without one, too: a crash before main where RLIMIT_AS leaves
 * none. */
static _Alignas(4096) char spare[4096];
static _Atomic bool spare_taken;

static void *map_any(size_t len, int prot)
{
	void *p = fm_sys_far(len, prot);

	if ((uintptr_t)p >= (uintptr_t)-4095 && len == sizeof(spare) &&
	    !atomic_exchange(&spare_taken, true))
		return spare;
	return (void *)libc_result((long)p);
}

void *fm_je_mmap(void *addr, size_t len, int prot, int flags, int fd,
		 off_t off)
{
	if (!addr && !(flags & MAP_FIXED))
		return map_any(len, prot);
	return (void *)libc_result(
		(long)fm_sys_mmap(addr, len, prot, flags, fd, off));
}

int fm_je_munmap(void *addr, size_t len);
int fm_je_munmap(void *addr, size_t len)
{
	if (addr == spare) {
		/* zeroes, as mmap has */
		fm_sys_madvise(addr, len, MADV_DONTNEED);
		atomic_store(&spare_taken, false);
		return 0;
	}
	return (int)libc_result(fm_sys_munmap(addr, len));
}

int fm_je_madvise(void *addr, size_t len, int advice);
int fm_je_madvise(void *addr, size_t len, int advice)
{
	return (int)libc_result(fm_sys_madvise(addr, len, advice));
}

int fm_je_mprotect(void *addr, size_t len, int prot);
int fm_je_mprotect(void *addr, size_t len, int prot)
{
	return (int)libc_result(fm_sys_mprotect(addr, len, prot));
}

void *fm_je_sbrk(intptr_t by);
void *fm_je_sbrk(intptr_t by)
{
	return (void *)-1;
}

/* open, read, write and close; none has more than three arguments. */
long fm_je_syscall(long nr, ...);
long fm_je_syscall(long nr, ...)
{
	long a, b, c;
	va_list ap;

	va_start(ap, nr);
	a = va_arg(ap, long);
	b = va_arg(ap, long);
	c = va_arg(ap, long);
	va_end(ap);
	return libc_result(fm_sys3(nr, a, b, c));
}

int fm_je_getaffinity(int pid, size_t size, void *set);
int fm_je_getaffinity(int pid, size_t size, void *set)
{
	memset(set, 0, size);
	return fm_sys3(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
}

char *fm_je_getenv(const char *name);
char *fm_je_getenv(const char *name)
{
	return NULL;
}

ssize_t fm_je_readlink(const char *path, char *buf, size_t len);
ssize_t fm_je_readlink(const char *path, char *buf, size_t len)
{
	return -1;
}

/* The lock held over fork is the whole fork protocol. */
int fm_je_atfork(void (*a)(void), void (*b)(void), void (*c)(void));
int fm_je_atfork(void (*a)(void), void (*b)(void), void (*c)(void))
{
	return 0;
}

int fm_je_mutex_init(void *mutex, const void *attr);
int fm_je_mutex_init(void *mutex, const void *attr)
{
	return 0;
}

int fm_je_mutex_lock(void *mutex);
int fm_je_mutex_lock(void *mutex)
{
	return 0;
}

int fm_je_mutex_trylock(void *mutex) __attribute__((alias("fm_je_mutex_lock")));
int fm_je_mutex_unlock(void *mutex) __attribute__((alias("fm_je_mutex_lock")));
int fm_je_attr_init(void *attr) __attribute__((alias("fm_je_mutex_lock")));
int fm_je_attr_destroy(void *attr) __attribute__((alias("fm_je_mutex_lock")));
int fm_je_attr_settype(void *attr, int type);
int fm_je_attr_settype(void *attr, int type)
{
	return 0;
}

int fm_je_cond_init(void *c, const void *attr)
	__attribute__((alias("fm_je_mutex_init")));

/*
 * What jemalloc keeps for a thread it keeps once, for who holds our lock
 * (src/one_thread.py): static TLS is scarce, and of the end of a thread it
 * would hear by a key of libc, which threads of ours do not have. So none ends.
 *
 * Where the archive could not be changed (FM_ALLOC_THREADS), jemalloc has each
 * thread in a list. There a thread "ends" with its first call, under our lock:
 * from then on it is in no list, as for destructors that still allocate.
 */
#ifdef FM_ALLOC_THREADS
static void (*thread_end)(void *);
static _Thread_local void *begun;
static _Thread_local bool ended;

static void alloc_begin(const void *value)
{
	if (!ended)
		begun = (void *)(uintptr_t)value;
}

static void end_begun(void)
{
	void *p = begun;

	if (!p)
		return;
	ended = true;
	begun = NULL;
	thread_end(p);
}
#else
static void alloc_begin(const void *value)
{
}

static void end_begun(void)
{
}
#endif

int fm_je_key_create(unsigned *key, void (*end)(void *));
int fm_je_key_create(unsigned *key, void (*end)(void *))
{
#ifdef FM_ALLOC_THREADS
	thread_end = end;
#endif
	*key = 0;
	return 0;
}

int fm_je_setspecific(unsigned key, const void *value);
int fm_je_setspecific(unsigned key, const void *value)
{
	alloc_begin(value);
	return 0;
}

int fm_je_clock(clockid_t clock, struct timespec *ret);
int fm_je_clock(clockid_t clock, struct timespec *ret)
{
	return fm_clock(clock, ret);
}

void *fm_je_dlsym(void *handle, const char *name);
void *fm_je_dlsym(void *handle, const char *name)
{
	return NULL;
}

bool fm_je_ctl_boot(void);
bool fm_je_ctl_boot(void)
{
	return false; /* it has not failed */
}

void fm_je_ctl_prefork(void);
void fm_je_ctl_prefork(void)
{
}

#define LEFT_OUT(name) \
	void fm_je_ctl_##name(void) \
		__attribute__((alias("fm_je_ctl_prefork")));
LEFT_OUT(postfork_parent)
LEFT_OUT(postfork_child)
LEFT_OUT(mtx_assert_held)

_Noreturn void fm_je_never(void);
_Noreturn void fm_je_never(void)
{
	__builtin_trap();
}

#define NEVER(name) \
	_Noreturn void fm_je_no_##name(void) \
		__attribute__((alias("fm_je_never")));
NEVER(ctl_byname)
NEVER(ctl_bymib)
NEVER(ctl_bymibname)
NEVER(ctl_nametomib)
NEVER(ctl_mibnametomib)
NEVER(pthread_create)
NEVER(pthread_join)
NEVER(pthread_cond_signal)
NEVER(pthread_cond_wait)
NEVER(pthread_cond_timedwait)
NEVER(pthread_setname_np)
NEVER(pthread_getname_np)
NEVER(pthread_sigmask)
NEVER(sigfillset)
NEVER(open)
NEVER(creat)
NEVER(close)
NEVER(log)
NEVER(exp)
NEVER(round)
NEVER(_Unwind_Backtrace)
NEVER(_Unwind_GetIP)
NEVER(atexit)
NEVER(sched_setaffinity)
NEVER(abort)
NEVER(gettimeofday)

/*
 * Who begins to initialise jemalloc and finds no memory (RLIMIT_DATA) is the
 * only one who may try again: it makes all others wait until that has succeeded
 * (malloc_init_hard), and here under our lock. To them there is no memory.
 */
static _Thread_local char here;
static const char *beginner;
static bool initialised;

static bool may_begin(void)
{
	if (!beginner)
		beginner = &here;
	return initialised || beginner == &here;
}

static void worked(const void *p)
{
	initialised |= p != NULL;
}

static bool is_early(void)
{
	return !initialised;
}

#endif

static void *alloc_get(size_t size)
{
	void *p = is_early() ? fm_early_get(size) : NULL;

	if (p)
		return p;
	p = may_begin() ? raw_calloc(1, size) : NULL;
	worked(p);
	return p;
}

static void *alloc_move(void *old, size_t size)
{
	const size_t had = fm_early_size(old);
	void *p;

	if (size <= had)
		return old;
	p = alloc_get(size);
	if (p) {
		memcpy(p, old, had);
		fm_early_put(old);
	}
	return p;
}

static void *alloc_change(void *old, size_t size)
{
	void *p;

	if (!old)
		return alloc_get(size);
	if (fm_early_has(old))
		return alloc_move(old, size);
	p = may_begin() ? raw_realloc(old, size) : NULL;
	worked(p);
	return p;
}

void *fm_alloc(size_t size)
{
	struct caller c = alloc_enter();
	void *p = alloc_get(size);

	alloc_leave(&c);
	return p;
}

void *fm_realloc(void *old, size_t size)
{
	struct caller c = alloc_enter();
	void *p = alloc_change(old, size);

	alloc_leave(&c);
	return p;
}

void fm_free(void *p)
{
	struct caller c;

	if (!p)
		return;
	c = alloc_enter();
	if (fm_early_has(p))
		fm_early_put(p);
	else
		raw_free(p);
	alloc_leave(&c);
}
