/* SPDX-License-Identifier: MIT */
/*
 * C11, C13: what works on mapped memory behind the back of any guard: POSIX
 * aio (threads of libc), futexes and locks that lie in the mapping.
 */
#include "ct.h"

#include <aio.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#define N 16ul

static char *map;
static int fd;

static void fresh(const char *name)
{
	fd = ct_file(name, N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	say_load("C10 served", map, 15 * PAGE);
}

static ssize_t finish(struct aiocb *cb)
{
	const struct aiocb *list[1] = { cb };

	while (aio_error(cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	return aio_error(cb) ? -aio_error(cb) : aio_return(cb);
}

static void aio(void)
{
	struct aiocb cb = { 0 }, *list[1] = { &cb };
	char buf[PAGE];

	fresh("aio");
	map[5] = 'M';
	cb.aio_fildes = fd;
	cb.aio_buf = buf;
	cb.aio_nbytes = PAGE;
	say_rc("C11 aio_read", aio_read(&cb));
	say("C11 read: %zd", finish(&cb));
	say("C11 stored before: %c", buf[5]);
	memset(buf, 'W', PAGE);
	cb.aio_offset = PAGE;
	say_rc("C11 aio_write", aio_write(&cb));
	say("C11 written: %zd", finish(&cb));
	say("C11 in the map: %c", map[PAGE + 9]);
	close(fd);
	fresh("aio2"); /* the buffers */
	cb.aio_fildes = ct_file("aio-other", 4 * PAGE);
	cb.aio_buf = map + 2 * PAGE - 100;
	cb.aio_nbytes = 2 * PAGE;
	cb.aio_offset = 0;
	cb.aio_lio_opcode = LIO_READ;
	say_rc("C13 lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
	say("C13 read: %zd", finish(&cb));
	say("C13 data: %d", ct_matches(map + 2 * PAGE - 100, 2 * PAGE, 0));
	say_rc("C13 aio_fsync", aio_fsync(O_SYNC, &cb));
	say("C13 synced: %zd", finish(&cb));
	close(cb.aio_fildes);
	close(fd);
}

static void *waker(void *arg)
{
	int *word = arg;

	usleep(50000);
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void futex(void)
{
	pthread_t t;
	int *word, zero = 0;

	fresh("futex");
	word = (int *)(void *)(map + 3 * PAGE);
	ct_pwrite(fd, &zero, sizeof(zero), 3 * PAGE);
	pthread_create(&t, NULL, waker, word);
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		if (syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0) ==
			    -1 &&
		    errno != EAGAIN && errno != EINTR) {
			say_rc("C13 futex", -1);
			break;
		}
	pthread_join(t, NULL);
	say("C13 futex word: %d", *word);
	close(fd);
}

struct shared {
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	int ready;
};

static void *partner(void *arg)
{
	struct shared *s = arg;

	sem_wait(&s->sem);
	pthread_mutex_lock(&s->mutex);
	s->ready = 1;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->mutex);
	pthread_barrier_wait(&s->barrier);
	return NULL;
}

static void locks(void)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	struct shared *s;
	pthread_t t;

	fresh("locks");
	s = (struct shared *)(void *)(map + PAGE);
	s->ready = 0;
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	say("C13 init: %d %d %d %d", sem_init(&s->sem, 1, 0),
	    pthread_mutex_init(&s->mutex, &ma),
	    pthread_cond_init(&s->cond, &ca),
	    pthread_barrier_init(&s->barrier, NULL, 2));
	pthread_create(&t, NULL, partner, s);
	usleep(20000);
	sem_post(&s->sem);
	pthread_mutex_lock(&s->mutex);
	while (!s->ready)
		pthread_cond_wait(&s->cond, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	pthread_barrier_wait(&s->barrier);
	pthread_join(t, NULL);
	say("C13 all through: %d", s->ready);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	aio();
	futex();
	locks();
	return 0;
}
