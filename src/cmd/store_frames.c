/* SPDX-License-Identifier: MIT */
#include "store_frames.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HELD 256 /* frames: each read looks at all */

struct held {
	char *data; /* NULL: free */
	size_t frame, size;
	unsigned users; /* keep it */
	bool ready;
	int err; /* when ready */
	uint64_t used; /* when, by `now` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct held held[HELD];
static uint64_t bytes, most, now;
static frame_make_fn *frame_make;

void frames_begin(uint64_t limit, frame_make_fn *make)
{
	most = limit;
	frame_make = make;
}

static struct held *held_find(size_t frame)
{
	for (size_t i = 0; i < HELD; i++)
		if (held[i].data && held[i].frame == frame && !held[i].err)
			return &held[i];
	return NULL;
}

static void held_drop(struct held *h)
{
	free(h->data);
	h->data = NULL;
	bytes -= h->size;
	pthread_cond_broadcast(&changed);
}

/* The one that has not been used for longest makes room, else somebody who is
 * at it does. */
static void held_make_room(void)
{
	struct held *old = NULL;

	for (size_t i = 0; i < HELD; i++)
		if (held[i].data && !held[i].users &&
		    (!old || held[i].used < old->used))
			old = &held[i];
	if (old)
		held_drop(old);
	else
		pthread_cond_wait(&changed, &lock);
}

static struct held *held_free(size_t size)
{
	if (bytes && bytes + size > most)
		return NULL;
	for (size_t i = 0; i < HELD; i++)
		if (!held[i].data)
			return &held[i];
	return NULL;
}

/* With the lock; without it while it is made. */
static struct held *held_new(struct held *h, unsigned worker, size_t frame,
			     size_t size)
{
	int err;

	*h = (struct held){ .data = malloc(size), .frame = frame, .size = size,
			    .users = 1 };
	if (!h->data)
		return NULL;
	bytes += size;
	pthread_mutex_unlock(&lock);
	err = frame_make(worker, frame, h->data, size);
	pthread_mutex_lock(&lock);
	h->ready = true;
	h->err = err;
	pthread_cond_broadcast(&changed);
	return h;
}

/* With the lock. NULL: there is no memory. */
static struct held *held_get(unsigned worker, size_t frame, size_t size)
{
	struct held *h, *room;

	while (!(h = held_find(frame))) {
		room = held_free(size);
		if (room)
			return held_new(room, worker, frame, size);
		held_make_room();
	}
	h->users++;
	while (!h->ready)
		pthread_cond_wait(&changed, &lock);
	return h;
}

/* What failed is tried anew the next time. */
static void held_put(struct held *h)
{
	h->used = ++now;
	if (!--h->users && h->err)
		held_drop(h);
	else if (!h->users)
		pthread_cond_broadcast(&changed);
}

int frames_read(unsigned worker, size_t frame, size_t size, void *buf,
		size_t in, size_t n)
{
	struct held *h;
	int err;

	pthread_mutex_lock(&lock);
	h = held_get(worker, frame, size);
	pthread_mutex_unlock(&lock);
	if (!h)
		return ENOMEM;
	err = h->err;
	if (!err)
		memcpy(buf, h->data + in, n);
	pthread_mutex_lock(&lock);
	held_put(h);
	pthread_mutex_unlock(&lock);
	return err;
}
