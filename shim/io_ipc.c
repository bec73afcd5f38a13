/* SPDX-License-Identifier: MIT */
/* io_ipc.c - calls that do nothing but bring word from one process to
 * another, and that the table (calls.def) does not have. */
#include "guard.h"

#include <semaphore.h>
#include <sys/eventfd.h>

/* Of other processes, too? Where sem_init's pshared is kept (glibc 2.21). */
static bool io_ipc_is_shared(const sem_t *sem)
{
	return ((const int *)sem)[2] != 0;
}

/* Asked before: whoever has waited may find it gone. */
#define SEM_WAITS(fn, params, ...)                                        \
	FM_NEXT(fn)                                                       \
	FM_HOOK int fn params                                             \
	{                                                                 \
		const bool shared = io_ipc_is_shared(sem);                \
		const int r = FM_LATE(fn)(__VA_ARGS__);                   \
                                                                          \
		return shared ? (int)fm_ipc_after(r) : r;                 \
	}
SEM_WAITS(sem_wait, (sem_t *sem), sem)
SEM_WAITS(sem_trywait, (sem_t *sem), sem)
SEM_WAITS(sem_timedwait, (sem_t *sem, const struct timespec *t), sem, t)
SEM_WAITS(sem_clockwait,
	  (sem_t *sem, clockid_t c, const struct timespec *t), sem, c, t)
FM_FIRST(int, sem_post, (sem_t *sem),
	 io_ipc_is_shared(sem) ? fm_ipc_before() : (void)0,
	 FM_LATE(sem_post)(sem))

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
