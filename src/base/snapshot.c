/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

#define TRIES 8
#define MORE 16 /* size: room for so many more at each try */

void fm_snapshot_put(struct fm_snapshot *s, const void *one)
{
	if (s->n < s->room)
		memcpy((char *)s->list + s->n++ * s->size, one, s->size);
	s->all++;
}

/* For those that there were, or one less: as if it had come since. */
static size_t snapshot_room_for(size_t all, size_t tries)
{
#ifdef FM_LIST_GROWTH
	if (all && !tries)
		return all - 1;
#endif
	return all + tries * MORE;
}

static int snapshot_make_room(struct fm_snapshot *s, size_t room)
{
	fm_free(s->list);
	s->list = fm_alloc((room + 1) * s->size);
	s->room = room;
	s->n = s->all = 0;
	return s->list ? 0 : -ENOMEM;
}

int fm_snapshot(struct fm_snapshot *ret, size_t size,
		void (*walk)(struct fm_snapshot *s, void *arg), void *arg)
{
	struct fm_snapshot s = { .size = size };

	*ret = s;
	walk(&s, arg);
	for (size_t tries = 0; tries < TRIES; tries++) {
		if (snapshot_make_room(&s, snapshot_room_for(s.all, tries)))
			return -ENOMEM;
		walk(&s, arg);
		if (s.all <= s.room) {
			*ret = s;
			return 0;
		}
	}
	fm_free(s.list);
	return -EAGAIN;
}
