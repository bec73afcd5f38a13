/* SPDX-License-Identifier: MIT */
#include "heap_file.h"

#include "base/sys.h"
#include "engine.h"
#include "policy.h"

static struct fm_heap_calls *heap; /* before the program has threads */

/* A child's is another file than its parent's was, which it does not map. */
FM_FAULT bool fm_is_heap(const struct fm_file *f)
{
	return heap && atomic_load_explicit(&heap->made,
					    memory_order_acquire) &&
	       f->ino == heap->ino && f->dev == heap->dev;
}

bool fm_may_change(const struct fm_file *f)
{
	return f->policy->serve == FM_SERVE_AUTO && !f->ephemeral;
}

/* ---- pages that nobody has written --------------------------------------- */

static _Atomic(_Atomic uint64_t *) written; /* a bit a page; NULL: not known */
static uint64_t written_pages;

/* Memory that is not touched costs nothing. What was known before is for good:
 * somebody may be looking at it. */
void fm_heap_opened(struct fm_file *f, uint64_t pages)
{
	_Atomic uint64_t *bits = NULL;

	f->ephemeral = fm_is_heap(f);
	if (!f->ephemeral)
		return;
	if (!atomic_load(&heap->in_file) && !atomic_load(&written)) {
		written_pages = pages;
		bits = fm_sys_anon((pages / 64 + 1) * sizeof(*bits));
	}
	atomic_store(&written, bits);
}

void fm_heap_shared(const struct fm_file *f)
{
	if (fm_is_heap(f))
		atomic_store(&written, NULL);
}

FM_FAULT bool fm_heap_blank(const struct fm_file *f, uint64_t fp, uint64_t n)
{
	const _Atomic uint64_t *bits = atomic_load(&written);

	if (!bits || !fm_is_heap(f) || fp + n > written_pages)
		return false;
	for (uint64_t k = fp; k < fp + n; k++)
		if (atomic_load(&bits[k / 64]) >> k % 64 & 1)
			return false;
	return true;
}

FM_FAULT bool fm_heap_has_room(const struct fm_file *f)
{
	return atomic_load(&written) && fm_is_heap(f);
}

FM_FAULT void fm_heap_writes(const struct fm_file *f, uint64_t fp, uint64_t n)
{
	_Atomic uint64_t *bits = atomic_load(&written);

	if (!bits || !fm_is_heap(f))
		return;
	for (uint64_t k = fp; k < fp + n && k < written_pages; k++)
		atomic_fetch_or(&bits[k / 64], 1ull << k % 64);
}

void fm_heap_freed(const struct fm_file *f, uint64_t fp, uint64_t stop)
{
	_Atomic uint64_t *bits = atomic_load(&written);

	if (!bits || !fm_is_heap(f))
		return;
	for (uint64_t k = fp; k < stop && k < written_pages; k++)
		atomic_fetch_and(&bits[k / 64], ~(1ull << k % 64));
}

/* ---- who asks ------------------------------------------------------------ */

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

/* Its file is another, a copy of the parent's. */
void fm_heap_lay(void)
{
	atomic_store(&written, NULL);
	if (heap && atomic_load(&heap->made))
		heap->lay();
}
