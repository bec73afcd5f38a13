/* SPDX-License-Identifier: MIT */
/*
 * io_child.c - waiting for children. Their end is word of what they have
 * written.
 *
 * Orphans become children of the first process of a container, and of who asked
 * for them (PR_SET_CHILD_SUBREAPER): also the guardians of children that were
 * killed (guardian.c). Where it waits for any child these are not told of. Its
 * own is its child, too, of a kind that waits must ask for.
 */
#include "io_object.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SIZE(p) sizeof(*(p))
/* The kernel does so where it fails, too. */
#define INFO_FILLED (offsetof(siginfo_t, si_status) + sizeof(int))
static pid_t call_wait(int *status);
static pid_t call_waitpid(pid_t pid, int *status, int flags);
static pid_t call_wait3(int *status, int flags, struct rusage *use);
static pid_t call_wait4(pid_t pid, int *status, int flags, struct rusage *use);
static int call_waitid(idtype_t type, id_t id, siginfo_t *info, int flags);

/* clang-format off */
OBJECT_(pid_t, wait, (int *status),
	status, SIZE(status), OUT, r > 0 ? SIZE(status) : 0,
	(pid_t)fm_ipc_after(call_wait(status)), status)
OBJECT_(pid_t, waitpid, (pid_t pid, int *status, int flags),
	status, SIZE(status), OUT, r > 0 ? SIZE(status) : 0,
	(pid_t)fm_ipc_after(call_waitpid(pid, status, flags)),
	pid, status, flags)
OBJECT2_(pid_t, wait3, (int *status, int flags, struct rusage *use),
	 status, SIZE(status), OUT, r > 0 ? SIZE(status) : 0,
	 use, SIZE(use), OUT, r > 0 ? SIZE(use) : 0,
	 (pid_t)fm_ipc_after(call_wait3(status, flags, use)),
	 status, flags, use)
OBJECT2_(pid_t, wait4,
	 (pid_t pid, int *status, int flags, struct rusage *use),
	 status, SIZE(status), OUT, r > 0 ? SIZE(status) : 0,
	 use, SIZE(use), OUT, r > 0 ? SIZE(use) : 0,
	 (pid_t)fm_ipc_after(call_wait4(pid, status, flags, use)),
	 pid, status, flags, use)
OBJECT_(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags),
	info, SIZE(info), OUT, INFO_FILLED,
	(int)fm_ipc_after(call_waitid(type, id, info, flags)),
	type, id, info, flags)

FM_ALIAS(wait) pid_t __wait(int *status);
FM_ALIAS(waitpid) pid_t __waitpid(pid_t pid, int *status, int flags);
/* clang-format on */

#define ORDINARY (WNOHANG | WUNTRACED | WCONTINUED)

/* Do the numbers in /proc mean what they mean to us? */
static bool has_proc(void)
{
	char pid[16] = { 0 }, own[16];

	snprintf(own, sizeof(own), "%d", fm_sys_getpid());
	return fm_sys_readlink("/proc/self", pid, sizeof(pid) - 1) > 0 &&
	       !strcmp(pid, own);
}

static bool is_guardian(int pid)
{
	char path[32], name[32] = { 0 };
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = has_proc() ? fm_sys_open(path, O_RDONLY, 0) : -1;
	if (fd < 0)
		return false;
	fm_sys3(SYS_read, fd, name, sizeof(name) - 1);
	fm_sys_close(fd);
	return !strcmp(name, "fastmap-guard\n");
}

/* Waits for a child that is the program's, and leaves it as it is. As
 * waitid. */
static int look_for_any(int flags, siginfo_t *info)
{
	for (;;) {
		info->si_pid = 0;
		if (FM_LATE(waitid)(P_ALL, 0, info, flags | WNOWAIT) < 0)
			return -1;
		if (!info->si_pid || !is_guardian(info->si_pid))
			return 0;
		fm_sys4(SYS_wait4, info->si_pid, NULL, ORDINARY, NULL);
	}
}

static pid_t wait_any(int *status, int flags, struct rusage *use)
{
	const int saved = errno;
	siginfo_t info;
	pid_t r;

	for (;;) {
		if (look_for_any(WEXITED | flags, &info) < 0)
			return -1;
		if (!info.si_pid)
			return 0;
		r = FM_LATE(wait4)(info.si_pid, status, flags | WNOHANG, use);
		if (r > 0 || (r < 0 && errno != ECHILD))
			return r;
		errno = saved; /* another thread had it first */
	}
}

static int waitid_first(siginfo_t *got, int flags)
{
	const int saved = errno;
	siginfo_t found;
	int r = 0;

	for (;;) {
		memset(got, 0, sizeof(*got));
		if (look_for_any(flags, &found) < 0)
			return -1;
		if (found.si_pid)
			r = FM_LATE(waitid)(P_PID, (id_t)found.si_pid, got,
					    flags | WNOHANG);
		if (!found.si_pid || (r == 0 && got->si_pid))
			return 0;
		if (r < 0 && errno != ECHILD)
			return r;
		errno = saved;
	}
}

static int waitid_any(siginfo_t *info, int flags)
{
	siginfo_t got;
	int r = waitid_first(&got, flags);

	return fm_user_write(info, &got, INFO_FILLED) ?
		       r : (int)fm_result(-EFAULT);
}

/* Before a wait. True: ours are not to be told of. */
static bool filters(bool any, int flags)
{
	if (any && (flags & (__WALL | __WCLONE)) && fm_active() &&
	    fm_whoami() == FM_ME)
		fm_engine_waits_for_all();
	return any && !(flags & ~ORDINARY) && fm_gets_orphans();
}

static pid_t call_wait(int *status)
{
	return filters(true, 0) ? wait_any(status, 0, NULL)
				: FM_LATE(wait)(status);
}

static pid_t call_waitpid(pid_t pid, int *status, int flags)
{
	return filters(pid == -1, flags) ? wait_any(status, flags, NULL) :
					   FM_LATE(waitpid)(pid, status, flags);
}

static pid_t call_wait3(int *status, int flags, struct rusage *use)
{
	return filters(true, flags) ? wait_any(status, flags, use) :
				      FM_LATE(wait3)(status, flags, use);
}

static pid_t call_wait4(pid_t pid, int *status, int flags, struct rusage *use)
{
	return filters(pid == -1, flags)
		       ? wait_any(status, flags, use)
		       : FM_LATE(wait4)(pid, status, flags, use);
}

static int call_waitid(idtype_t type, id_t id, siginfo_t *info, int flags)
{
	return info && filters(type == P_ALL, flags & ~(WEXITED | WNOWAIT)) ?
		       waitid_any(info, flags) :
		       FM_LATE(waitid)(type, id, info, flags);
}
