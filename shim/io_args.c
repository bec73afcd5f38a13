/* SPDX-License-Identifier: MIT */
/* io_args.c - calls with small objects that concern the engine, too. */
#include "call_copy.h"
#include "io_object.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

FM_NEXT(setrlimit)
FM_NEXT(prlimit)

/* The limit that a call may set. */
static void note_limit(int what, const struct rlimit *set)
{
	struct rlimit rl;

	if (what == RLIMIT_FSIZE && set && fm_looks() &&
	    fm_whoami() == FM_ME && fm_user_read(&rl, set, sizeof(rl)))
		fm_limit_fsize(rl.rlim_cur);
}

void fm_note_limit(pid_t pid, int what, const struct rlimit *set)
{
	if (!pid || pid == fm_sys_getpid())
		note_limit(what, set);
}

FM_HOOK int setrlimit(__rlimit_resource_t what, const struct rlimit *set)
{
	fm_note_limit(0, (int)what, set);
	return FM_CALL_NEXT(FM_FOUND(setrlimit), SYS_setrlimit, what, set, 0,
			    0);
}

FM_HOOK int prlimit(pid_t pid, enum __rlimit_resource what,
		    const struct rlimit *set, struct rlimit *old)
{
	fm_note_limit(pid, (int)what, set);
	return FM_CALL_NEXT(FM_FOUND(prlimit), SYS_prlimit64, pid, what, set,
			    old);
}

FM_ALIAS(setrlimit)
int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *buf) __THROW;
FM_ALIAS(prlimit)
int prlimit64(pid_t pid, enum __rlimit_resource what,
	      const struct rlimit64 *set, struct rlimit64 *old) __THROW;

/* See stored_before in io_path.c. */
#define SEEN(fd) (fm_looks() ? (void)fm_see(fd, 0, 0) : (void)0)

/* clang-format off */
OBJECT_(int, futimens, (int fd, const struct timespec t[2]),
	t, 2 * sizeof(struct timespec), IN, 0,
	(SEEN(fd), FM_LATE(futimens)(fd, t)), fd, t)
OBJECT_(int, futimes, (int fd, const struct timeval t[2]),
	t, 2 * sizeof(struct timeval), IN, 0,
	(SEEN(fd), FM_LATE(futimes)(fd, t)), fd, t)
/* clang-format on */
