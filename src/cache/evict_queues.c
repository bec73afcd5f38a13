/* SPDX-License-Identifier: MIT */
#include "evict_queues.h"

#include "base/types.h"
#include "evict_policy.h"

struct shard {
	struct fm_evict_list list[FM_EVICT_POOLS][FM_EVICT_POLICIES]
				 [FM_EVICT_QUEUES];
	_Atomic uint32_t turn; /* of pools and policies */
	char pad[FM_CACHELINE];
};

static struct shard shards[FM_EVICT_SHARDS];
static _Atomic uint32_t pools = FM_POOL_OWN;

FM_FAULT unsigned fm_evict_pools(void)
{
	return atomic_load_explicit(&pools, memory_order_relaxed);
}

void fm_evict_use(unsigned pool)
{
	if (pool >= fm_evict_pools())
		atomic_store(&pools, pool + 1);
}

FM_FAULT struct fm_evict_list *fm_evict_list(unsigned s, unsigned pool,
					     unsigned p, bool mark)
{
	const struct fm_evict_policy *policy = fm_evict_policies[p];

	return &shards[s].list[pool][p][policy->queue ? policy->queue(mark) :
							0];
}

static FM_FAULT int64_t evict_queues_weight(uint64_t e)
{
	return e & FM_EVICT_UNIT ? FM_HUGE_PAGES : 1;
}

FM_FAULT void fm_evict_push(struct fm_evict_list *l, uint64_t e)
{
	atomic_fetch_add_explicit(&l->pages, evict_queues_weight(e),
				  memory_order_relaxed);
	fm_queue_push(&l->q, e);
}

FM_FAULT void fm_evict_return(struct fm_evict_list *l, uint64_t e)
{
	if (!l->newest_first) {
		fm_evict_push(l, e);
		return;
	}
	atomic_fetch_add_explicit(&l->pages, evict_queues_weight(e),
				  memory_order_relaxed);
	fm_queue_push_first(&l->q, e);
}

FM_FAULT bool fm_evict_pop(struct fm_evict_list *l, uint64_t *ret)
{
	bool got = l->newest_first ? fm_queue_pop_last(&l->q, ret) :
				     fm_queue_pop(&l->q, ret);

	if (!got)
		return false;
	atomic_fetch_sub_explicit(&l->pages, evict_queues_weight(*ret),
				  memory_order_relaxed);
	return true;
}

FM_FAULT uint64_t fm_evict_entries(unsigned s, unsigned pool, unsigned p)
{
	uint64_t n = 0;

	for (unsigned q = 0; q < FM_EVICT_QUEUES; q++)
		n += fm_queue_len(&shards[s].list[pool][p][q].q);
	return n;
}

static FM_FAULT int64_t evict_queues_pages_of(const struct fm_evict_list *l)
{
	return atomic_load_explicit(&l->pages, memory_order_relaxed);
}

FM_FAULT uint64_t fm_evict_pages(unsigned s, unsigned pool)
{
	int64_t n = 0;

	for (unsigned p = 0; p < FM_EVICT_POLICIES; p++)
		for (unsigned q = 0; q < FM_EVICT_QUEUES; q++)
			n += evict_queues_pages_of(&shards[s].list[pool][p][q]);
	return n > 0 ? (uint64_t)n : 0;
}

/* Steps of the golden section, which fall evenly. */
FM_FAULT uint64_t fm_evict_step(unsigned s, uint64_t all)
{
	uint32_t at = atomic_fetch_add(&shards[s].turn, 1) * 0x9e3779b1u;

	return at * all >> 32;
}

FM_FAULT unsigned fm_evict_turn(unsigned s, unsigned pool)
{
	uint64_t n[FM_EVICT_POLICIES], all = 0, at;
	unsigned p;

	for (p = 0; p < FM_EVICT_POLICIES; p++)
		all += n[p] = fm_evict_entries(s, pool, p);
	for (p = 0; p < FM_EVICT_POLICIES; p++)
		if (n[p] == all)
			return p;
	at = fm_evict_step(s, all);
	for (p = 0; p < FM_EVICT_POLICIES - 1 && at >= n[p]; p++)
		at -= n[p];
	return p;
}

FM_FAULT struct fm_evict_list *fm_evict_victims(unsigned s, unsigned pool,
						unsigned p)
{
	const struct fm_evict_policy *policy = fm_evict_policies[p];
	struct fm_evict_len len[FM_EVICT_QUEUES];

	if (!policy->victim)
		return &shards[s].list[pool][p][0];
	for (unsigned q = 0; q < FM_EVICT_QUEUES; q++) {
		struct fm_evict_list *l = &shards[s].list[pool][p][q];

		len[q].entries = fm_queue_len(&l->q);
		len[q].pages = evict_queues_pages_of(l);
	}
	return &shards[s].list[pool][p][policy->victim(len)];
}

static void each_list(unsigned n, void (*fn)(struct fm_evict_list *l,
					     unsigned policy))
{
	for (unsigned i = 0; i < FM_EVICT_SHARDS; i++)
		for (unsigned k = 0; k < n; k++)
			for (unsigned p = 0; p < FM_EVICT_POLICIES; p++)
				for (unsigned q = 0; q < FM_EVICT_QUEUES; q++)
					fn(&shards[i].list[k][p][q], p);
}

/* Memory of a pool that is not used stays untouched. */
static void list_start(struct fm_evict_list *l, unsigned policy)
{
	if (fm_evict_policies[policy]->newest_first)
		l->newest_first = true;
}

void fm_evict_start(void)
{
	each_list(FM_EVICT_POOLS, list_start);
}

void fm_evict_reset(void)
{
	fm_queues_forget();
	fm_sys_clear(shards, sizeof(shards));
	atomic_store(&pools, FM_POOL_OWN);
}
