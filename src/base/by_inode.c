/* SPDX-License-Identifier: MIT */
#include "by_inode.h"

#include <stdatomic.h>

typedef struct fm_by_inode *_Atomic inode_head;

static inode_head *by_inode_head(const struct fm_inode_table *t, dev_t dev,
			     ino_t ino)
{
	return &t->head[fm_inode_hash(dev, ino) >> (64 - t->bits)];
}

static struct fm_by_inode *by_inode_from(struct fm_by_inode *l, dev_t dev,
					 ino_t ino)
{
	while (l && (l->ino != ino || l->dev != dev))
		l = atomic_load(&l->next);
	return l;
}

struct fm_by_inode *fm_inode_first(const struct fm_inode_table *t, dev_t dev,
				   ino_t ino)
{
	return by_inode_from(atomic_load(by_inode_head(t, dev, ino)), dev, ino);
}

bool fm_inode_any(const struct fm_inode_table *t, dev_t dev, ino_t ino)
{
	return atomic_load(by_inode_head(t, dev, ino));
}

struct fm_by_inode *fm_inode_next(const struct fm_by_inode *l)
{
	return by_inode_from(atomic_load(&l->next), l->dev, l->ino);
}

void fm_inode_add(const struct fm_inode_table *t, struct fm_by_inode *l)
{
	inode_head *head = by_inode_head(t, l->dev, l->ino);
	struct fm_by_inode *was = atomic_load(head);

	do
		atomic_store(&l->next, was);
	while (!atomic_compare_exchange_weak(head, &was, l));
}

/* What came since the last look is at the head: all of it is looked at before
 * the swap, which fails if more has come. */
struct fm_by_inode *fm_inode_add_once(const struct fm_inode_table *t,
				      struct fm_by_inode *l)
{
	inode_head *head = by_inode_head(t, l->dev, l->ino);
	struct fm_by_inode *was = atomic_load(head), *there;

	do {
		there = by_inode_from(was, l->dev, l->ino);
		if (there)
			return there;
		atomic_store(&l->next, was);
	} while (!atomic_compare_exchange_weak(head, &was, l));
	return l;
}

void fm_inode_remove(const struct fm_inode_table *t, struct fm_by_inode *l)
{
	inode_head *at = by_inode_head(t, l->dev, l->ino);
	struct fm_by_inode *is = l;

	/* At the head it may fail: then others have come before it. */
	if (atomic_compare_exchange_strong(at, &is, atomic_load(&l->next)))
		return;
	while (is && is != l) {
		at = &is->next;
		is = atomic_load(at);
	}
	if (is)
		atomic_store(at, atomic_load(&l->next));
}

void fm_inode_clear(const struct fm_inode_table *t)
{
	for (unsigned i = 0; i < 1u << t->bits; i++)
		if (atomic_load(&t->head[i]))
			atomic_store(&t->head[i], NULL);
}
