/* SPDX-License-Identifier: MIT */
/*
 * io_aio.c - users of mapped memory that cannot be guarded: libc's own threads
 * that transfer for aio_read, with every signal blocked, and futexes, on which
 * the kernel looks at a page at any later time. What they use is handed to the
 * kernel first, for good.
 */
#include "guard.h"

#include <aio.h>
#include <pthread.h>
#include <semaphore.h>

/* ---- aio --------------------------------------------------------------- */

static void io_aio_give_up_request(const struct aiocb *cb)
{
	struct fm_file *f;

	if (!fm_looks())
		return;
	fm_demote_touched(cb, sizeof(*cb), FM_WHY_AIO);
	fm_demote_touched((const void *)(uintptr_t)cb->aio_buf, cb->aio_nbytes,
			  FM_WHY_AIO);
	f = fm_file_by_fd(cb->aio_fildes);
	if (!f)
		return;
	fm_file_demote(f, FM_WHY_AIO);
	fm_file_put(f);
}

FM_FIRST(int, aio_read, (struct aiocb *cb), io_aio_give_up_request(cb),
	 FM_LATE(aio_read)(cb))
FM_FIRST(int, aio_write, (struct aiocb *cb), io_aio_give_up_request(cb),
	 FM_LATE(aio_write)(cb))
FM_FIRST(int, aio_fsync, (int op, struct aiocb *cb), io_aio_give_up_request(cb),
	 FM_LATE(aio_fsync)(op, cb))

static void io_aio_give_up_list(struct aiocb *const list[], int n)
{
	if (!fm_looks() || n <= 0)
		return;
	fm_demote_touched(list, (size_t)n * sizeof(*list), FM_WHY_AIO);
	for (int i = 0; i < n; i++)
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)
			io_aio_give_up_request(list[i]);
}

FM_FIRST(int, lio_listio, (int mode, struct aiocb *const list[], int n,
			   struct sigevent *sig),
	 io_aio_give_up_list(list, n), FM_LATE(lio_listio)(mode, list, n, sig))

FM_ALIAS(aio_read) int aio_read64(struct aiocb64 *cb) __THROW __nonnull((1));
FM_ALIAS(aio_write) int aio_write64(struct aiocb64 *cb) __THROW __nonnull((1));
FM_ALIAS(aio_fsync)
int aio_fsync64(int op, struct aiocb64 *cb) __THROW __nonnull((2));
FM_ALIAS(lio_listio)
int lio_listio64(int mode, struct aiocb64 *const list[], int n,
		 struct sigevent *sig) __THROW __nonnull((2));

/* ---- locks ------------------------------------------------------------- */

FM_FIRST(int, sem_init, (sem_t *sem, int shared, unsigned value),
	 fm_demote_touched(sem, sizeof(*sem), FM_WHY_SEMAPHORE),
	 FM_LATE(sem_init)(sem, shared, value))
FM_FIRST(int, pthread_mutex_init, (pthread_mutex_t *m,
				   const pthread_mutexattr_t *attr),
	 fm_demote_touched(m, sizeof(*m), FM_WHY_MUTEX),
	 FM_LATE(pthread_mutex_init)(m, attr))
FM_FIRST(int, pthread_cond_init, (pthread_cond_t *c,
				  const pthread_condattr_t *attr),
	 fm_demote_touched(c, sizeof(*c), FM_WHY_CONDITION),
	 FM_LATE(pthread_cond_init)(c, attr))
FM_FIRST(int, pthread_rwlock_init, (pthread_rwlock_t *l,
				    const pthread_rwlockattr_t *attr),
	 fm_demote_touched(l, sizeof(*l), FM_WHY_RWLOCK),
	 FM_LATE(pthread_rwlock_init)(l, attr))
FM_FIRST(int, pthread_barrier_init, (pthread_barrier_t *b,
				     const pthread_barrierattr_t *attr,
				     unsigned n),
	 fm_demote_touched(b, sizeof(*b), FM_WHY_BARRIER),
	 FM_LATE(pthread_barrier_init)(b, attr, n))

FM_ALIAS(pthread_mutex_init)
int __pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
	__THROW __nonnull((1));
FM_ALIAS(pthread_rwlock_init)
int __pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr)
	__THROW __nonnull((1));
