/* SPDX-License-Identifier: MIT */
/*
 * ct.h - helpers of the contract programs.
 *
 * A program prints one line per observation, starting with the identifier of
 * its row in docs/contract.md. What it prints must not depend on addresses,
 * times or process ids: the harness compares it with the native run.
 */
#ifndef CT_H
#define CT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define CT_SKIP 77
#define CT_PATIENCE 120000 /* ms, with a child */
#define CT_UNUSED __attribute__((unused))
#define RW (PROT_READ | PROT_WRITE)

static char ct_dir[2048];
static sigjmp_buf ct_jump;
static volatile sig_atomic_t ct_armed;
static void *volatile ct_fault_addr;

CT_UNUSED static void say(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
CT_UNUSED static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

CT_UNUSED static _Noreturn void ct_die(const char *what)
{
	say("cannot go on: %s: %s", what, strerrorname_np(errno));
	exit(99);
}

CT_UNUSED static void ct_skip(const char *why)
{
	say("skipped: %s", why);
	exit(CT_SKIP);
}

/* "ok" or the name of errno, for a call that returned `failed`. */
CT_UNUSED static const char *ct_errno(bool failed)
{
	const char *name = failed ? strerrorname_np(errno) : "ok";

	return name ? name : "?";
}

/* Of a race that is tried over and over: so many times in a usual run, as many
 * as `all` in a full one. */
CT_UNUSED static int ct_rounds(int usual, int all)
{
	return getenv("CT_FULL") ? all : usual;
}

CT_UNUSED static void say_rc(const char *what, long rc)
{
	say("%s: %s", what, ct_errno(rc == -1));
}

CT_UNUSED static void say_map(const char *what, void *p)
{
	say("%s: %s", what, ct_errno(p == MAP_FAILED));
}

static void ct_on_signal(int sig, siginfo_t *info, void *context CT_UNUSED)
{
	ct_fault_addr = info->si_addr;
	if (!ct_armed) {
		signal(sig, SIG_DFL);
		return;
	}
	siglongjmp(ct_jump, sig);
}

/* First thing in main: scratch directory, handlers for SIGBUS and SIGSEGV. */
CT_UNUSED static void ct_begin(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = ct_on_signal,
				.sa_flags = SA_SIGINFO };

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(ct_dir, sizeof(ct_dir), "%s", argc > 1 ? argv[1] : ".");
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}

CT_UNUSED static const char *ct_path(const char *name)
{
	static char path[8][3072];
	static int n;
	char *p = path[n++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", ct_dir, name);
	return p;
}

/* Does a mapping of a file begin at `at`, for the kernel? */
CT_UNUSED static bool ct_is_the_kernels(const volatile void *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, ino, want = (uintptr_t)at;
	char line[4096];
	bool yes = false;

	while (maps && !yes && fgets(line, sizeof(line), maps))
		yes = sscanf(line, "%lx-%*x %*s %*x %*s %lu", &start, &ino) ==
			      2 && start == want && ino;
	if (maps)
		fclose(maps);
	return yes;
}

/* The byte that ct_file puts at an offset. Never zero. */
static unsigned char ct_byte(uint64_t off)
{
	uint64_t x = (off + 1) * 0x9e3779b97f4a7c15ull;

	return (unsigned char)(x >> 56) | 1;
}

/* Nothing of it is in the page cache, or the kernel would keep all of it. */
CT_UNUSED static void ct_uncache(int fd)
{
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		ct_die("fsync or fadvise");
}

/* A system call past every hook. */
CT_UNUSED static long ct_raw(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}

CT_UNUSED static void ct_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	if (pwrite(fd, buf, len, off) != (ssize_t)len)
		ct_die("pwrite");
}

/* A new file of `size` bytes with the pattern of ct_byte, open read-write. */
CT_UNUSED static int ct_file(const char *name, size_t size)
{
	int fd = open(ct_path(name), O_RDWR | O_CREAT | O_TRUNC, 0644);
	unsigned char buf[PAGE];

	if (fd < 0)
		ct_die("open");
	for (size_t off = 0; off < size; off += PAGE) {
		size_t n = size - off < PAGE ? size - off : PAGE;

		for (size_t i = 0; i < n; i++)
			buf[i] = ct_byte(off + i);
		ct_pwrite(fd, buf, n, (off_t)off);
	}
	return fd;
}

CT_UNUSED static char *ct_map(int fd, size_t len, int prot, int flags,
			      off_t off)
{
	void *p = mmap(NULL, len, prot, flags, fd, off);

	if (p == MAP_FAILED)
		ct_die("mmap");
	return p;
}

/* Whether [p, p+len) shows the pattern of file offset off. */
CT_UNUSED static bool ct_matches(const void *p, size_t len, uint64_t off)
{
	const volatile unsigned char *b = p;

	for (size_t i = 0; i < len; i++)
		if (b[i] != ct_byte(off + i))
			return false;
	return true;
}

/* How many of the pages from `from` to `to` do not begin with the pattern; p
 * shows the file from its start. */
CT_UNUSED static size_t ct_wrong(const char *p, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += !ct_matches(p + i * PAGE, 64, i * PAGE);
	return n;
}

CT_UNUSED static bool ct_zero(const void *p, size_t len)
{
	const volatile unsigned char *b = p;

	for (size_t i = 0; i < len; i++)
		if (b[i])
			return false;
	return true;
}

/* Load a byte: 0..255, or minus the signal that it raised. */
CT_UNUSED static int ct_load(const volatile void *p)
{
	int sig, got = 0;

	ct_armed = 1;
	sig = sigsetjmp(ct_jump, 1);
	if (!sig)
		got = *(const volatile unsigned char *)p;
	ct_armed = 0;
	return sig ? -sig : got;
}

CT_UNUSED static int ct_store(volatile void *p, int value)
{
	int sig;

	ct_armed = 1;
	sig = sigsetjmp(ct_jump, 1);
	if (!sig)
		*(volatile unsigned char *)p = (unsigned char)value;
	ct_armed = 0;
	return -sig;
}

/* Say what touching base+off does: the byte, or signal and address. */
CT_UNUSED static void say_touch(const char *what, char *base, size_t off,
				bool write)
{
	int r = write ? ct_store(base + off, 0x5a) : ct_load(base + off);

	if (r >= 0)
		say("%s: %s at +%#zx: ok %02x", what, write ? "store" : "load",
		    off, write ? ct_load(base + off) & 0xff : r);
	else
		say("%s: %s at +%#zx: %s, si_addr +%#lx", what,
		    write ? "store" : "load", off,
		    r == -SIGBUS    ? "SIGBUS"
		    : r == -SIGSEGV ? "SIGSEGV"
				    : "signal",
		    (long)((char *)ct_fault_addr - base));
}

CT_UNUSED static void say_load(const char *what, char *base, size_t off)
{
	say_touch(what, base, off, false);
}

CT_UNUSED static void say_store(const char *what, char *base, size_t off)
{
	say_touch(what, base, off, true);
}

/* Read one byte of the file through read(2); -1 beyond the end. */
CT_UNUSED static int ct_in_file(int fd, off_t off)
{
	unsigned char b;
	ssize_t n = pread(fd, &b, 1, off);

	return n == 1 ? b : n == 0 ? -1 : -2;
}

/* How a child ended: its exit status, or minus its signal. Who does not end is
 * killed, so that no run hangs; its core says where it stood. */
CT_UNUSED static int ct_ended(pid_t pid)
{
	struct pollfd p = { .fd = (int)ct_raw(SYS_pidfd_open, pid, 0, 0, 0),
			    .events = POLLIN };
	long r = -EINTR;
	int status;

	while (p.fd >= 0 && r == -EINTR)
		r = ct_raw(SYS_poll, (long)&p, 1, CT_PATIENCE, 0);
	if (r == 0) {
		kill(pid, SIGABRT);
		ct_raw(SYS_poll, (long)&p, 1, CT_PATIENCE / 8, 0);
		kill(pid, SIGKILL);
	}
	if (p.fd >= 0)
		ct_raw(SYS_close, p.fd, 0, 0, 0);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			ct_die("waitpid");
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Run a function in a child, so that address space and limits are its own, and
 * say how it ended, as ct_ended does: what it returns is the exit status. */
CT_UNUSED static int ct_child(int (*run)(void *), void *arg)
{
	pid_t pid;
	int r;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		ct_die("fork");
	if (pid == 0) {
		r = run(arg);
		fflush(NULL);
		_exit(r);
	}
	return ct_ended(pid);
}

static int ct_run_case(void *run)
{
	(*(void (**)(void))run)();
	return 0;
}

/* The same of a case; nothing is said where it ends well. */
CT_UNUSED static void say_child(const char *what, void (*run)(void))
{
	int r = ct_child(ct_run_case, &run);

	if (r < 0)
		say("%s: child died of %s", what, sigabbrev_np(-r));
	else if (r)
		say("%s: child exited with %d", what, r);
}

#endif
