/* SPDX-License-Identifier: MIT */
/* io_ipc.c - calls that do nothing but bring word from one process to
 * another, and that the table (calls.def) does not have. */
#include "guard.h"

#include <semaphore.h>
#include <sys/eventfd.h>

FM_NEXT(sem_wait)
FM_NEXT(sem_trywait)
FM_NEXT(sem_timedwait)
FM_NEXT(sem_clockwait)
FM_NEXT(sem_post)

/* Of other processes, too? Where sem_init's pshared is kept (glibc 2.21). */
static bool io_ipc_is_shared(const sem_t *sem)
{
	return ((const int *)sem)[2] != 0;
}

/* Asked before: whoever has waited may find it gone. */
static int io_ipc_told(bool shared, int r)
{
	return shared ? (int)fm_ipc_after(r) : r;
}

FM_HOOK int sem_wait(sem_t *sem)
{
	const bool shared = io_ipc_is_shared(sem);

	return io_ipc_told(shared, FM_LATE(sem_wait)(sem));
}

FM_HOOK int sem_trywait(sem_t *sem)
{
	const bool shared = io_ipc_is_shared(sem);

	return io_ipc_told(shared, FM_LATE(sem_trywait)(sem));
}

FM_HOOK int sem_timedwait(sem_t *sem, const struct timespec *t)
{
	const bool shared = io_ipc_is_shared(sem);

	return io_ipc_told(shared, FM_LATE(sem_timedwait)(sem, t));
}

FM_HOOK int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *t)
{
	const bool shared = io_ipc_is_shared(sem);

	return io_ipc_told(shared, FM_LATE(sem_clockwait)(sem, clock, t));
}

FM_HOOK int sem_post(sem_t *sem)
{
	if (io_ipc_is_shared(sem))
		fm_ipc_before();
	return FM_LATE(sem_post)(sem);
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
