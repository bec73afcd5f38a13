/* SPDX-License-Identifier: MIT */
#include "heap_file.h"

#include "base/sys.h"
#include "engine.h"
#include "policy.h"

static struct fm_heap_calls *heap; /* before the program has threads */

FM_FAULT bool fm_is_heap(const struct fm_file *f)
{
	return heap && atomic_load_explicit(&heap->made,
					    memory_order_acquire) &&
	       f->ino == heap->ino && f->dev == heap->dev;
}

bool fm_may_change(const struct fm_file *f)
{
	return f->policy->serve == FM_SERVE_AUTO && !fm_is_heap(f);
}

bool fm_heap_wanted(void)
{
	return fm_settings()->heap != NULL;
}

void fm_heap_found(struct fm_heap_calls *c)
{
	const struct fm_settings *s = fm_settings();

	if (c->version != FM_HEAP_CALLS)
		return;
	heap = c;
	c->dir = s->heap;
	c->size = s->heap_size;
	c->near = s->heap_near < s->heap_size ? s->heap_near : s->heap_size;
	c->fork_limit = s->heap_fork;
	atomic_store(&c->on, true);
}

bool fm_heap_bytes_of(struct fm_heap_bytes *ret, bool ask)
{
	if (!heap)
		return false;
	*ret = (struct fm_heap_bytes){
		.most = heap->size,
		.in_file = atomic_load(&heap->in_file),
		.in_memory = atomic_load(&heap->in_memory),
		.used = atomic_load(&heap->used),
	};
	if (ask)
		heap->count();
	return true;
}

void fm_heap_copy(bool held)
{
	if (heap && atomic_load(&heap->made))
		heap->copy(held);
}

void fm_heap_copied(void)
{
	if (heap && atomic_load(&heap->made))
		heap->copied();
}

void fm_heap_lay(void)
{
	if (heap && atomic_load(&heap->made))
		heap->lay();
}
