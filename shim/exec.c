/* SPDX-License-Identifier: MIT */
/*
 * exec.c - the exec and spawn families. Before: strings out of managed memory,
 * dirty data back, and the signal state that a new program inherits as the
 * program believes it to be. exec may fail; then everything is as it was.
 */
#include "shim.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"

/* Programs do pass NULL as the first argument, whatever the header says. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wnonnull-compare"
#endif

FM_NEXT(execve)
FM_NEXT(execvpe)
FM_NEXT(execveat)
FM_NEXT(fexecve)
FM_NEXT(posix_spawn)
FM_NEXT(posix_spawnp)
FM_NEXT(system)
FM_NEXT(popen)
FM_NEXT(pclose)

extern char **environ;

/* From here to leave() SIGBUS may really be blocked or ignored: no access to
 * managed memory. Other threads are unaffected by the mask; ignoring is for
 * all of them, but only a program that itself ignores SIGBUS gets there. */
struct inherit {
	bool blocked, ignored;
};

static struct inherit enter_signals(bool exec)
{
	struct inherit in = { fm_view_blocked(), false };
	uint64_t bit = FM_BUS_BIT;

	if (exec && fm_bus_taken() &&
	    fm_bus_action(false).handler == SIG_IGN)
		in.ignored = !fm_sig_native(SIG_IGN);
	if (in.blocked)
		fm_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8);
	return in;
}

static void leave_signals(const struct inherit *in)
{
	uint64_t bit = FM_BUS_BIT;

	if (in->blocked)
		fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	if (in->ignored)
		fm_sig_native(NULL);
}

enum how { EXECVE, EXECVPE, EXECVEAT, FEXECVE };

static int exec_by(enum how how, bool raw, int fd, const struct fm_args *a,
		   int flags)
{
	switch (how) {
	case EXECVE:
		return FM_PASS_VIA(raw, execve, SYS_execve, a->path, a->argv,
				   a->envp);
	case EXECVPE:
		return FM_LATE(execvpe)(a->path, a->argv, a->envp);
	case EXECVEAT:
		return FM_PASS_VIA(raw, execveat, SYS_execveat, fd, a->path,
				   a->argv, a->envp, flags);
	case FEXECVE:
		return FM_LATE(fexecve)(fd, a->argv, a->envp);
	}
	__builtin_unreachable();
}

/* Many try one directory after the other. */
static bool may_work(enum how how, const char *path)
{
	return how != EXECVE ||
	       !fm_sys4(SYS_faccessat, AT_FDCWD, path, X_OK, 0);
}

/* What another program is about to inherit. `mine`: how it comes by it from
 * this process. Returns who this is. */
static enum fm_whoami pass_down(enum fm_heir mine)
{
	const enum fm_whoami who = fm_whoami();

	switch (who) {
	case FM_ME:
		fm_files_inherited(mine, 0);
		break;
	case FM_VFORK_CHILD:
		fm_files_inherited(FM_HEIR_VFORKED, 0);
		break;
	case FM_RAW_FORK_CHILD:
		break;
	}
	return who;
}

/* Nobody shares with us what our own program becomes. */
static void hand_down(enum how how, const char *path)
{
	if (pass_down(FM_HEIR_FORKED) == FM_ME && fm_active() &&
	    may_work(how, path))
		fm_engine_before_exec();
}

static int exec_common(enum how how, bool raw, int fd, struct fm_args a,
		       int flags)
{
	struct inherit in;
	int r;

	if (!fm_on())
		return exec_by(how, raw, fd, &a, flags);
	r = fm_args_copy(&a);
	if (r < 0)
		return (int)fm_result(r);
	fm_flush_if_me();
	hand_down(how, a.path);
	in = enter_signals(true);
	r = exec_by(how, raw, fd, &a, flags);
	leave_signals(&in);
	fm_args_free(&a);
	return r;
}

int fm_do_execve(bool raw, const char *path, char *const argv[],
		 char *const envp[])
{
	struct fm_args a = { .path = path, .argv = argv, .envp = envp };

	return exec_common(EXECVE, raw, -1, a, 0);
}

FM_HOOK int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

FM_HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct fm_args a = { .path = file, .argv = argv, .envp = envp };

	return exec_common(EXECVPE, false, -1, a, 0);
}

FM_HOOK int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

int fm_do_execveat(bool raw, int fd, const char *path, char *const argv[],
		   char *const envp[], int flags)
{
	struct fm_args a = { .path = path, .argv = argv, .envp = envp };

	return exec_common(EXECVEAT, raw, fd, a, flags);
}

FM_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct fm_args a = { .argv = argv, .envp = envp };

	return exec_common(FEXECVE, false, fd, a, 0);
}

/* ---- argument lists --------------------------------------------------- */

/* Arguments up to and with the NULL; `ap` is left alone. */
static size_t list_count(va_list ap)
{
	va_list walk;
	size_t n = 1;

	va_copy(walk, ap);
	while (va_arg(walk, char *))
		n++;
	va_end(walk);
	return n;
}

/* `argv` gets `first` and the rest of the list with its NULL. Does not leave
 * `ap` behind the list: walks a pointer to it so that execle sees envp. */
static void list_fill(char **argv, const char *first, size_t n, va_list *ap)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(*ap, char *);
}

/* `first` is argv[0]; a NULL there ends the list at once. The caller has put
 * as many pointers on this stack itself. */
#define FM_EXEC_LIST(first, call)                                         \
	do {                                                              \
		va_list ap;                                               \
		int ret;                                                  \
		va_start(ap, first);                                      \
		{                                                         \
			size_t n = (first) ? list_count(ap) : 0;          \
			char **argv = __builtin_alloca((n + 1) *          \
						      sizeof(char *));    \
			list_fill(argv, first, n, &ap);                   \
			ret = (call);                                     \
		}                                                         \
		va_end(ap);                                               \
		return ret;                                               \
	} while (0)

FM_HOOK int execl(const char *path, const char *arg, ...)
{
	FM_EXEC_LIST(arg, execve(path, argv, environ));
}

FM_HOOK int execlp(const char *file, const char *arg, ...)
{
	FM_EXEC_LIST(arg, execvpe(file, argv, environ));
}

FM_HOOK int execle(const char *path, const char *arg, ...)
{
	FM_EXEC_LIST(arg, execve(path, argv, va_arg(ap, char **)));
}

/* ---- spawn ------------------------------------------------------------ */

typedef __typeof__(&posix_spawn) spawn_fn;

/* Returns the error number. The child shares our memory until it executes,
 * with all signals blocked. */
static int spawn_common(spawn_fn next, pid_t *ret_pid, struct fm_args a,
			const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr)
{
	struct inherit in;
	pid_t pid;
	int r;

	if (!fm_on())
		return next(ret_pid, a.path, actions, attr, a.argv, a.envp);
	r = fm_args_copy(&a);
	if (r < 0)
		return -r;
	fm_flush_if_me();
	in = enter_signals(false);
	r = next(&pid, a.path, actions, attr, a.argv, a.envp);
	leave_signals(&in);
	fm_args_free(&a);
	if (!r)
		fm_files_inherited(FM_HEIR_SPAWNED, pid);
	if (!r && ret_pid)
		*ret_pid = pid;
	return r;
}

FM_HOOK int posix_spawn(pid_t *ret_pid, const char *path,
			const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[],
			char *const envp[])
{
	struct fm_args a = { .path = path, .argv = argv, .envp = envp };

	return spawn_common(FM_LATE(posix_spawn), ret_pid, a, actions, attr);
}

FM_HOOK int posix_spawnp(pid_t *ret_pid, const char *file,
			 const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attr, char *const argv[],
			 char *const envp[])
{
	struct fm_args a = { .path = file, .argv = argv, .envp = envp };

	return spawn_common(FM_LATE(posix_spawnp), ret_pid, a, actions, attr);
}

/* system and popen spawn inside libc, and do not say whom: what it can inherit
 * is handed over before. */
static void before_shell(void)
{
	fm_flush_if_me();
	pass_down(FM_HEIR_SHELL);
}

/* A NULL command asks for a shell. */
FM_HOOK int system(const char *command)
{
	struct fm_args a = { .path = command };
	int r;

	if (!fm_on() || !command)
		return FM_LATE(system)(command);
	r = fm_args_copy(&a);
	if (r < 0)
		return (int)fm_result(r);
	before_shell();
	r = FM_LATE(system)(a.path);
	fm_peers_acquire();
	fm_args_free(&a);
	return r;
}

FM_HOOK int pclose(FILE *fp)
{
	int r = FM_LATE(pclose)(fp);

	fm_peers_acquire();
	return r;
}

FM_HOOK FILE *popen(const char *command, const char *type)
{
	struct fm_args a = { .path = command };
	FILE *f;
	int r;

	if (!fm_on())
		return FM_LATE(popen)(command, type);
	r = fm_args_copy(&a);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	before_shell();
	f = FM_LATE(popen)(a.path, type);
	fm_args_free(&a);
	return f;
}
