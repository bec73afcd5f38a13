/* SPDX-License-Identifier: MIT */
#include "epoch.h"

#include "alloc.h"
#include "life.h"
#include "sys.h"
#include "types.h"

#define SLOTS 512

static struct {
	_Atomic uint64_t at; /* 0: free */
	char pad[FM_CACHELINE - 8];
} slots[SLOTS];
static _Atomic uint64_t now = 1;
static _Atomic uint64_t crowd; /* readers who found no slot */

struct limbo {
	struct limbo *next;
	void *obj;
	void (*free_fn)(void *);
	uint64_t at;
};
static struct limbo *limbo_head, **limbo_tail = &limbo_head;
static unsigned limbo_n;
#define LIMBO_MANY 32 /* size: of a batch, one look at all the slots each */

FM_FAULT unsigned fm_epoch_enter(void)
{
	static _Thread_local unsigned last
		__attribute__((tls_model("initial-exec")));
	unsigned i = last ? last : (unsigned)fm_sys_gettid() * 7u;

	for (unsigned tries = 0; tries < SLOTS; tries++, i++) {
		uint64_t free_slot = 0;

		i %= SLOTS;
		if (atomic_load_explicit(&slots[i].at, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&slots[i].at, &free_slot,
						    atomic_load(&now)))
			continue;
		last = i;
		return i;
	}
	/* Do not wait for a slot: who has one may wait for us. Meanwhile
	 * nothing is freed. */
	atomic_fetch_add(&crowd, 1);
	return SLOTS;
}

FM_FAULT void fm_epoch_leave(unsigned slot)
{
	if (slot == SLOTS)
		atomic_fetch_sub(&crowd, 1);
	else
		atomic_store_explicit(&slots[slot].at, 0,
				      memory_order_release);
}

static uint64_t epoch_oldest(void)
{
	uint64_t min = UINT64_MAX;

	if (atomic_load(&crowd))
		return 0;
	for (int i = 0; i < SLOTS; i++) {
		uint64_t e = atomic_load(&slots[i].at);

		if (e && e < min)
			min = e;
	}
	return min;
}

void fm_epoch_retire(void *obj, void (*free_fn)(void *))
{
	struct limbo *l = fm_alloc(sizeof(*l));

	if (!l)
		return; /* leaks the object: no memory, and correct */
	l->obj = obj;
	l->free_fn = free_fn;
	l->next = NULL;
	/* Sections that begin from here on carry a higher number. */
	l->at = atomic_fetch_add(&now, 1);
	*limbo_tail = l;
	limbo_tail = &l->next;
	limbo_n++;
}

void fm_epoch_reclaim(bool at_once)
{
	uint64_t min;

	if (!limbo_head || (!at_once && limbo_n < LIMBO_MANY))
		return;
	min = epoch_oldest();
	while (limbo_head && limbo_head->at < min) {
		struct limbo *l = limbo_head;

		limbo_head = l->next;
		if (!limbo_head)
			limbo_tail = &limbo_head;
		limbo_n--;
		l->free_fn(l->obj);
		fm_free(l);
	}
}

static void epoch_reset(void)
{
	fm_sys_clear(slots, sizeof(slots));
	atomic_store(&crowd, 0);
}

FM_LIFE(epoch, .level = FM_LIFE_MEMORY, .reset = epoch_reset)
