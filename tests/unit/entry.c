/* SPDX-License-Identifier: MIT */
/*
 * entry.S of the processor, over functions that note what they are given: what
 * the shim's C code is called with, on which stack, and what comes back. Built
 * with its own names for what it defines of libc's, but for syscall.
 */
#include "unit.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"

#define PAGE ((size_t)4096)
#define HIDDEN __attribute__((visibility("hidden"), used))

/* ---- entry.S, and what it calls ----------------------------------------- */

extern HIDDEN void fm_sig_entry(int sig, siginfo_t *info, void *uc);
extern HIDDEN void fm_sig_restorer(void);
extern HIDDEN void fm_sig_call_on(void *sp, void (*handler)(int), int sig,
				  siginfo_t *info, void *uc);
extern HIDDEN size_t fm_copy_try(void *to, const void *from, size_t n);
extern const char fm_copy_at[] __attribute__((visibility("hidden")));
extern const char fm_copy_end[] __attribute__((visibility("hidden")));
/* Called from there. */
#define CALLED(ret, name, ...)       \
	HIDDEN ret name(__VA_ARGS__); \
	HIDDEN ret name(__VA_ARGS__)

pid_t entry_vfork(void);
void *entry_dlopen(const char *file, int mode);
void *entry_dlmopen(long ns, const char *file, int mode);
void *entry_dlsym(void *handle, const char *name);

HIDDEN _Thread_local void *fm_sig_stack
	__attribute__((tls_model("initial-exec")));
HIDDEN _Atomic bool fm_shim_on;
HIDDEN unsigned char fm_syscall_hooked[FM_ROWS];

static struct {
	long v[7];
	const char *at; /* the frame of the last that was called */
	int resolves, delivered, forks, answer;
	char *new_stack;
} seen;

static void note(long a, long b, long c, long d, long e, long f, long g)
{
	const long v[7] = { a, b, c, d, e, f, g };

	memcpy(seen.v, v, sizeof(v));
}

#define HERE ((const char *)__builtin_frame_address(0))

CALLED(int, fm_sig_resolve, int sig, siginfo_t *info, void *uc)
{
	note(sig, (long)info, (long)uc, 0, 0, 0, 0);
	seen.at = HERE;
	seen.resolves++;
	return seen.answer;
}

CALLED(void, fm_sig_deliver, int sig, siginfo_t *info, void *uc, int why)
{
	note(sig, (long)info, (long)uc, why, 0, 0, 0);
	seen.at = HERE;
	seen.delivered++;
}

CALLED(void *, fm_sig_stack_new, void)
{
	fm_sig_stack = seen.new_stack;
	return fm_sig_stack;
}

CALLED(long, fm_syscall_hook, long nr, long a, long b, long c, long d, long e,
       long f)
{
	note(nr, a, b, c, d, e, f);
	return 4711;
}

CALLED(long, fm_syscall_error, long r)
{
	note(r, 0, 0, 0, 0, 0, 0);
	return -1;
}

CALLED(bool, fm_syscall_forks, long nr, long a, long b, long c, long d,
       long e)
{
	note(nr, a, b, c, d, e, 0);
	return seen.forks;
}

static long next(long a, long b, long c)
{
	note(a, b, c, 0, 0, 0, 0);
	return 42;
}

CALLED(void *, fm_before_vfork, void)
{
	return (void *)next;
}

CALLED(void *, fm_dlopen_mode, int mode, int *ret_mode)
{
	*ret_mode = mode | 0x100;
	return (void *)next;
}

CALLED(void *, fm_dlmopen_mode, int mode, int *ret_mode)
{
	return fm_dlopen_mode(mode, ret_mode);
}

CALLED(void *, fm_dlsym_next, void)
{
	return (void *)next;
}

CALLED(void *, fm_dlsym_of, void *handle, const char *name)
{
	note((long)handle, (long)name, 0, 0, 0, 0, 0);
	return (void *)43;
}

CALLED(void *, fm_dlsym_behind, void *handle, const char *name,
       const void *caller)
{
	note((long)handle, (long)name, (long)caller, 0, 0, 0, 0);
	return handle == RTLD_NEXT ? (void *)44 : NULL;
}

/* ---- copies -------------------------------------------------------------- */

static void end_copy(int sig, siginfo_t *info, void *context)
{
	const uintptr_t ip = fm_arch_ip(context);

	if (ip < (uintptr_t)fm_copy_at || ip >= (uintptr_t)fm_copy_end)
		_exit(3);
	seen.v[0] = fm_arch_stores(context);
	fm_arch_go_to(context, (uintptr_t)fm_copy_end);
}

static void catch_faults(void)
{
	struct sigaction sa = { .sa_sigaction = end_copy,
				.sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
}

static char *memory(size_t len, int prot)
{
	char *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void copies(void **state)
{
	char from[256], to[256], want[256];

	for (int k = 0; k < 256; k++)
		from[k] = (char)(k * 7 + 1);
	for (size_t n = 0; n < 80; n++)
		for (size_t at = 0; at < 20; at++) {
			memset(to, 0, sizeof(to));
			memset(want, 0, sizeof(want));
			memcpy(want + at, from + n % 5, n);
			assert_int_equal(fm_copy_try(to + at, from + n % 5, n),
					 0);
			assert_memory_equal(to, want, sizeof(to));
		}
}

/* What could be copied is there, and what is left is counted exactly. */
static void ends_of_copies(void **state)
{
	char *p = memory(2 * PAGE, PROT_READ | PROT_WRITE), buf[128] = { 1 };

	catch_faults();
	mprotect(p + PAGE, PAGE, PROT_NONE);
	for (size_t n = 0; n <= 48; n++) {
		memset(p + PAGE - 48, 0, 48);
		assert_int_equal(fm_copy_try(p + PAGE - n, buf, 64), 64 - n);
		assert_true(!n || p[PAGE - n] == 1);
		assert_int_equal(fm_copy_try(buf + 64, p + PAGE - n, 64),
				 64 - n);
		assert_int_equal(fm_copy_try((char *)16, p + PAGE - n, 64),
				 64);
	}
	munmap(p, 2 * PAGE);
}

/* ---- signals ------------------------------------------------------------- */

static bool on(const char *stack)
{
	return seen.at >= stack && seen.at < stack + 16 * PAGE;
}

static void stacks(void **state)
{
	char *stack = memory(16 * PAGE, PROT_READ | PROT_WRITE);
	siginfo_t info;
	int uc;

	for (int k = 0; k < 2; k++) { /* made, then there */
		seen.answer = 0;
		seen.new_stack = stack + 16 * PAGE;
		fm_sig_entry(SIGBUS, &info, &uc);
		assert_int_equal(seen.resolves, k + 1);
		assert_true(on(stack));
		assert_int_equal(seen.v[1], (long)&info);
		assert_int_equal(seen.v[2], (long)&uc);
	}
	seen.answer = 2;
	fm_sig_entry(SIGBUS, &info, &uc);
	assert_int_equal(seen.delivered, 1);
	assert_false(on(stack));
	assert_int_equal(seen.v[0], SIGBUS);
	assert_int_equal(seen.v[1], (long)&info);
	assert_int_equal(seen.v[2], (long)&uc);
	assert_int_equal(seen.v[3], 2);
	fm_sig_stack = NULL;
	seen.new_stack = NULL; /* no memory for one */
	seen.answer = 0;
	fm_sig_entry(SIGBUS, &info, &uc);
	assert_false(on(stack));
	munmap(stack, 16 * PAGE);
}

struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

/* As the kernel enters it, and through the restorer back. */
static void from_the_kernel(void **state)
{
	struct kernel_action a = { (void *)fm_sig_entry,
				   SA_SIGINFO | 0x04000000 /* SA_RESTORER */,
				   (void *)fm_sig_restorer, 0 };
	const int before = seen.resolves;

	seen.answer = 0;
	assert_int_equal(fm_sys6(SYS_rt_sigaction, SIGUSR1, (long)&a, 0, 8, 0,
				 0), 0);
	raise(SIGUSR1);
	raise(SIGUSR1);
	assert_int_equal(seen.resolves, before + 2);
}

static void handler(int sig, siginfo_t *info, void *uc)
{
	note(sig, (long)info, (long)uc, 0, 0, 0, 0);
	seen.at = HERE;
}

static void another_stack(void **state)
{
	char *stack = memory(16 * PAGE, PROT_READ | PROT_WRITE);

	fm_sig_call_on(stack + 16 * PAGE - 3, (void (*)(int))(void *)handler,
		       SIGBUS, (siginfo_t *)11, (void *)12);
	assert_true(on(stack));
	assert_int_equal(seen.v[0], SIGBUS);
	assert_int_equal(seen.v[1], 11);
	assert_int_equal(seen.v[2], 12);
	munmap(stack, 16 * PAGE);
}

/* ---- jumps --------------------------------------------------------------- */

static void jumps(void **state)
{
	assert_int_equal(entry_vfork(), 42);
	assert_int_equal((long)entry_dlopen("a", 3), 42);
	assert_string_equal((char *)seen.v[0], "a");
	assert_int_equal((int)seen.v[1], 0x103);
	assert_int_equal((long)entry_dlmopen(-1, "b", 4), 42);
	assert_int_equal(seen.v[0], -1);
	assert_string_equal((char *)seen.v[1], "b");
	assert_int_equal((int)seen.v[2], 0x104);
}

static void symbols(void **state)
{
	assert_int_equal((long)entry_dlsym((void *)16, "c"), 43);
	assert_string_equal((char *)seen.v[1], "c");
	assert_int_equal((long)entry_dlsym(RTLD_NEXT, "d"), 44);
	assert_in_range(seen.v[2], (uintptr_t)symbols,
			(uintptr_t)symbols + PAGE);
	assert_int_equal((long)entry_dlsym(RTLD_DEFAULT, "e"), 42);
	assert_int_equal(seen.v[0], (long)RTLD_DEFAULT);
	assert_string_equal((char *)seen.v[1], "e");
}

/* ---- syscall ------------------------------------------------------------- */

#define NOBODYS (FM_CALLS - 1)

static void all_arguments(long first)
{
	for (int k = 0; k < 7; k++)
		assert_int_equal(seen.v[k], k ? k : first);
}

static void calls(void **state)
{
	fm_syscall_hooked[NOBODYS] = 1;
	fm_syscall_hooked[SYS_getppid] = 2;
	assert_int_equal(syscall(NOBODYS, 1L, 2L, 3L, 4L, 5L, 6L), -1);
	atomic_store(&fm_shim_on, true);
	assert_int_equal(syscall(NOBODYS, 1L, 2L, 3L, 4L, 5L, 6L), 4711);
	all_arguments(NOBODYS);
	assert_int_equal(syscall(SYS_getpid), getpid());
	assert_int_equal(syscall(SYS_close, -1L), -1);
	assert_int_equal(seen.v[0], -9 /* EBADF */);
	assert_int_equal(syscall(1L << 40), -1);
	seen.forks = 0;
	assert_int_equal(syscall(SYS_getppid, 1L, 2L, 3L, 4L, 5L, 6L),
			 getppid());
	assert_int_equal(seen.v[5], 5);
	seen.forks = 1;
	assert_int_equal(syscall(SYS_getppid, 1L, 2L, 3L, 4L, 5L, 6L), 4711);
	all_arguments(SYS_getppid);
	atomic_store(&fm_shim_on, false);
}

/* The last of six reaches the kernel. */
static void sixth_argument(void **state)
{
	char byte = 0;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(syscall(SYS_splice, fd[0], 0L, fd[1], 0L, 1L, ~0L),
			 -1);
	assert_int_equal(seen.v[0], -22 /* EINVAL: flags */);
	assert_int_equal(read(fd[0], &byte, 1), 1);
	close(fd[0]);
	close(fd[1]);
}

/* ---- what patchers write ------------------------------------------------- */

static void patches(void **state)
{
	uint8_t *code = (uint8_t *)memory(PAGE, PROT_READ | PROT_WRITE);
	long (*fn)(long, long, long);

	assert_null(fm_arch_jump_of(code));
	fm_arch_jump_make(code, (const void *)0x123456789abcul);
	assert_int_equal((long)fm_arch_jump_of(code), 0x123456789abcl);
	fm_arch_jump_make(code, (const void *)next);
	assert_ptr_equal(fm_arch_jump_of(code), (const void *)next);
	if (mprotect(code, PAGE, PROT_READ | PROT_EXEC))
		skip();
	__builtin___clear_cache((char *)code, (char *)code + FM_ARCH_JUMP);
	*(void **)&fn = code;
	assert_int_equal(fn(7, 8, 9), 42);
	assert_int_equal(seen.v[2], 9);
	munmap(code, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies),
		cmocka_unit_test(ends_of_copies),
		cmocka_unit_test(stacks),
		cmocka_unit_test(from_the_kernel),
		cmocka_unit_test(another_stack),
		cmocka_unit_test(jumps),
		cmocka_unit_test(symbols),
		cmocka_unit_test(calls),
		cmocka_unit_test(sixth_argument),
		cmocka_unit_test(patches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
