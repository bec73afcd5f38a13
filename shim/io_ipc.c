/* SPDX-License-Identifier: MIT */
/* io_ipc.c - calls that do nothing but bring word from one process to
 * another. */
#include "guard.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

FM_NEXT(sem_wait)
FM_NEXT(sem_trywait)
FM_NEXT(sem_timedwait)
FM_NEXT(sem_clockwait)
FM_NEXT(sem_post)
FM_NEXT(kill)
FM_NEXT(killpg)
FM_NEXT(shutdown)
FM_NEXT(sigqueue)

/* Of other processes, too? Where sem_init's pshared is kept (glibc 2.21). */
static bool is_shared(const sem_t *sem)
{
	return ((const int *)sem)[2] != 0;
}

/* Asked before: whoever has waited may find it gone. */
static int told(bool shared, int r)
{
	return shared ? (int)fm_ipc_after(r) : r;
}

FM_HOOK int sem_wait(sem_t *sem)
{
	const bool shared = is_shared(sem);

	return told(shared, FM_LATE(sem_wait)(sem));
}

FM_HOOK int sem_trywait(sem_t *sem)
{
	const bool shared = is_shared(sem);

	return told(shared, FM_LATE(sem_trywait)(sem));
}

FM_HOOK int sem_timedwait(sem_t *sem, const struct timespec *t)
{
	const bool shared = is_shared(sem);

	return told(shared, FM_LATE(sem_timedwait)(sem, t));
}

FM_HOOK int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *t)
{
	const bool shared = is_shared(sem);

	return told(shared, FM_LATE(sem_clockwait)(sem, clock, t));
}

FM_HOOK int sem_post(sem_t *sem)
{
	if (is_shared(sem))
		fm_ipc_before();
	return FM_LATE(sem_post)(sem);
}

FM_HOOK int kill(pid_t pid, int sig)
{
	fm_ipc_before();
	return FM_PASS(kill, SYS_kill, pid, sig);
}

FM_HOOK int killpg(pid_t group, int sig)
{
	fm_ipc_before();
	return FM_LATE(killpg)(group, sig);
}

/* The end of what others read. */
FM_HOOK int shutdown(int fd, int how)
{
	fm_ipc_before();
	return FM_PASS(shutdown, SYS_shutdown, fd, how);
}

FM_HOOK int sigqueue(pid_t pid, int sig, const union sigval value)
{
	fm_ipc_before();
	return FM_LATE(sigqueue)(pid, sig, value);
}

/* libc's read and write past our hooks. */
FM_HOOK int eventfd_read(int fd, eventfd_t *value)
{
	return fm_do_read(false, fd, value, sizeof(*value)) == sizeof(*value)
		       ? 0
		       : -1;
}

FM_HOOK int eventfd_write(int fd, eventfd_t value)
{
	return fm_do_write(false, fd, &value, sizeof(value)) == sizeof(value)
		       ? 0
		       : -1;
}
