/* SPDX-License-Identifier: MIT */
/*
 * control_job.c - the thread in which long commands run, one after the other.
 * It is there while there are any.
 *
 * A client belongs to the control thread or to this one, by its state. Only
 * its last step (FM_CLIENT_HEARS) gives it back; the control thread, which is
 * not woken for that, looks at least once a second. So that the client need not
 * wait so long, the job thread sends the answer and the end itself if the
 * client takes it.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/fds.h"
#include "base/lock.h"
#include "base/thread.h"
#include "control_priv.h"

#define MOST (FM_CONTROL_CLIENTS / 2) /* size: the others may still ask */

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static bool runs;
static uint64_t turns;

struct fm_client fm_clients[FM_CONTROL_CLIENTS] = {
	[0 ... FM_CONTROL_CLIENTS - 1] = { .fd = -1 },
};

bool fm_control_send(struct fm_client *c)
{
	const struct fm_json *a = &c->request.answer;
	long n;

	if (a->failed)
		return true;
	n = fm_sys6(SYS_sendto, c->fd, (long)(a->text + c->sent),
		    (long)(a->len - c->sent), MSG_NOSIGNAL, 0, 0);
	if (n > 0)
		c->since_ms = fm_now_ms();
	if (n >= 0)
		c->sent += (size_t)n;
	return n < 0 ? n != -EAGAIN && n != -EINTR : c->sent == a->len;
}

bool fm_job_has(const struct fm_client *c)
{
	enum fm_client_state s = atomic_load(&c->state);

	return s == FM_CLIENT_WAITS || s == FM_CLIENT_JOB;
}

/* Who has waited longest; none: the thread ends. */
static struct fm_client *control_job_next(void)
{
	struct fm_client *first = NULL;

	fm_lock(&lock);
	for (int i = 0; i < FM_CONTROL_CLIENTS; i++) {
		struct fm_client *c = &fm_clients[i];

		if (atomic_load(&c->state) == FM_CLIENT_WAITS &&
		    (!first || c->turn < first->turn))
			first = c;
	}
	if (first)
		atomic_store(&first->state, FM_CLIENT_JOB);
	runs = first;
	fm_unlock(&lock);
	return first;
}

static void control_job_finish(struct fm_client *c)
{
	c->since_ms = fm_now_ms();
	if (fm_fd_still_ours(c->fd) && fm_control_send(c))
		fm_sys2(SYS_shutdown, c->fd, SHUT_WR);
	atomic_store(&c->state, FM_CLIENT_HEARS);
}

static void *job_thread(void *arg)
{
	struct fm_client *c;

	fm_thread_begin("fastmap-job");
	while ((c = control_job_next())) {
		c->command->run(&c->request);
		control_job_finish(c);
	}
	return NULL;
}

/* Under the lock; a thread that runs sees whoever waits before it ends. */
static int control_job_add(struct fm_client *c)
{
	int jobs = 0, err = 0;

	for (int i = 0; i < FM_CONTROL_CLIENTS; i++)
		jobs += fm_job_has(&fm_clients[i]);
	if (jobs >= MOST)
		return -EBUSY;
	if (!runs)
		err = fm_thread_create(job_thread, NULL);
	if (err)
		return err;
	runs = true;
	c->turn = turns++;
	atomic_store(&c->state, FM_CLIENT_WAITS);
	return 0;
}

int fm_job_add(struct fm_client *c)
{
	FM_HOLD(&lock);
	return control_job_add(c);
}

void fm_job_reset(void)
{
	fm_lock_reset(&lock);
	runs = false;
}
