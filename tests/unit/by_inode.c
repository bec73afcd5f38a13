/* SPDX-License-Identifier: MIT */
/* base/by_inode.h: what is there is found while others come and go, and of one
 * file there is one entry whoever adds it first. All in two buckets, so that
 * every change is a neighbour's of every other. */
#include "unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/by_inode.h"
#include "base/epoch.h"
#include "file/file.h"

#define THREADS 4
#define ROUNDS 20000
#define TIMES 50
#define STAYS 8
#define COMES 64

struct kept {
	int at; /* so that the link is not the first member */
	FM_BY_INODE;
};

FM_INODE_TABLE(some, 1);

static struct kept *kept_find(dev_t dev, ino_t ino)
{
	struct fm_by_inode *l = fm_inode_first(&some, dev, ino);

	return l ? FM_INODE_OF(l, struct kept) : NULL;
}

static void they_are_found(void **state)
{
	struct kept a[4] = { { .dev = 1, .ino = 1 }, { .dev = 2, .ino = 1 },
			     { .dev = 1, .ino = 2 }, { .dev = 1, .ino = 1 } };

	fm_inode_clear(&some);
	assert_null(kept_find(1, 1));
	for (int i = 0; i < 4; i++)
		fm_inode_add(&some, &a[i].link);
	assert_ptr_equal(kept_find(1, 1), &a[3]);
	assert_ptr_equal(fm_inode_next(&a[3].link), &a[0].link);
	assert_null(fm_inode_next(&a[0].link));
	assert_ptr_equal(kept_find(2, 1), &a[1]);
	fm_inode_remove(&some, &a[3].link);
	fm_inode_remove(&some, &a[3].link); /* is not there: nothing happens */
	assert_ptr_equal(kept_find(1, 1), &a[0]);
	fm_inode_remove(&some, &a[0].link);
	assert_null(kept_find(1, 1));
	assert_ptr_equal(kept_find(1, 2), &a[2]);
	fm_inode_clear(&some);
	assert_null(kept_find(1, 2));
	assert_false(fm_inode_any(&some, 1, 2));
}

/* What a reader may meet, step by step: it stands on one that goes, and what is
 * behind goes as well, or something comes. */
static void who_stands_on_one_goes_on(void **state)
{
	struct kept a[5];

	fm_inode_clear(&some);
	for (int i = 4; i >= 0; i--) {
		a[i] = (struct kept){ .dev = 1, .ino = 1 };
		fm_inode_add(&some, &a[i].link);
	}
	fm_inode_remove(&some, &a[0].link); /* the head */
	assert_ptr_equal(fm_inode_next(&a[0].link), &a[1].link);
	fm_inode_remove(&some, &a[2].link); /* between others */
	assert_ptr_equal(fm_inode_next(&a[2].link), &a[3].link);
	fm_inode_remove(&some, &a[1].link); /* and before it: two in a row */
	assert_ptr_equal(fm_inode_next(&a[1].link), &a[3].link);
	assert_ptr_equal(kept_find(1, 1), &a[3]);
	fm_inode_add(&some, &a[1].link);
	fm_inode_remove(&some, &a[3].link); /* no longer the head */
	assert_ptr_equal(kept_find(1, 1), &a[1]);
	assert_ptr_equal(fm_inode_next(&a[1].link), &a[4].link);
	fm_inode_remove(&some, &a[4].link); /* the last */
	assert_ptr_equal(fm_inode_next(&a[3].link), &a[4].link);
	assert_null(fm_inode_next(&a[4].link));
	assert_null(fm_inode_next(&a[1].link));
}

/* ---- who looks, while others come and go --------------------------------- */

static struct kept stays[STAYS];
static _Atomic bool going;
static _Atomic int lost;

static void *look(void *arg)
{
	for (unsigned i = 0; atomic_load(&going); i++) {
		unsigned e = fm_epoch_enter();
		struct kept *k = kept_find(3, i % STAYS);

		if (k != &stays[i % STAYS])
			atomic_fetch_add(&lost, 1);
		/* One that goes at this moment, or none. */
		k = kept_find(4, i % COMES);
		if (k && (k->dev != 4 || k->ino != i % COMES))
			atomic_fetch_add(&lost, 1);
		fm_epoch_leave(e);
	}
	return NULL;
}

/* Beside who takes out: it needs no lock of it. */
static void *come(void *arg)
{
	static struct kept much[ROUNDS];

	for (unsigned i = 0; i < ROUNDS && atomic_load(&going); i++) {
		unsigned e = fm_epoch_enter();

		much[i].dev = 5;
		much[i].ino = i;
		fm_inode_add(&some, &much[i].link);
		if (kept_find(5, i) != &much[i])
			atomic_fetch_add(&lost, 1);
		fm_epoch_leave(e);
	}
	return NULL;
}

/* What was taken out is freed when nobody stands on it. Those that stay are
 * before, between and behind those that go. */
static void come_and_go(void)
{
	struct kept *k[COMES];
	uint64_t mask;

	for (unsigned n = 0; n < COMES; n++) {
		k[n] = calloc(1, sizeof(*k[n]));
		k[n]->dev = 4;
		k[n]->ino = n;
		fm_inode_add(&some, &k[n]->link);
	}
	fm_space_lock(&mask);
	for (unsigned n = 0; n < COMES; n++) { /* each place is the head once */
		unsigned i = n * 7 % COMES;

		fm_inode_remove(&some, &k[i]->link);
		fm_epoch_retire(k[i], free);
	}
	fm_epoch_reclaim(true);
	fm_space_unlock(&mask);
}

static void none_is_lost(void **state)
{
	pthread_t t[THREADS];

	fm_inode_clear(&some);
	for (unsigned i = 0; i < STAYS; i++) {
		stays[i] = (struct kept){ .dev = 3, .ino = i };
		fm_inode_add(&some, &stays[i].link);
	}
	atomic_store(&going, true);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, i ? look : come, NULL);
	for (int i = 0; i < TIMES; i++)
		come_and_go();
	atomic_store(&going, false);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&lost), 0);
	fm_inode_clear(&some);
}

/* ---- who is first -------------------------------------------------------- */

#define FILES 200
static struct kept mine[THREADS][ROUNDS];
static pthread_barrier_t together;

static void *add_once(void *arg)
{
	struct kept *m = arg;

	pthread_barrier_wait(&together);
	for (unsigned i = 0; i < FILES; i++) {
		m[i] = (struct kept){ .dev = 6, .ino = i };
		fm_inode_add_once(&some, &m[i].link);
	}
	return NULL;
}

static void *add_all(void *arg)
{
	struct kept *m = arg;

	pthread_barrier_wait(&together);
	for (unsigned i = 0; i < ROUNDS; i++) {
		m[i] = (struct kept){ .dev = 7, .ino = i };
		fm_inode_add(&some, &m[i].link);
	}
	return NULL;
}

static void by_all(void *(*add)(void *))
{
	pthread_t t[THREADS];

	fm_inode_clear(&some);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, add, mine[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&together);
}

static unsigned many(void)
{
	unsigned n = 0;

	for (int i = 0; i < 2; i++)
		for (struct fm_by_inode *l = some_head[i]; l; l = l->next)
			n++;
	return n;
}

static void all_are_there(void **state)
{
	for (int round = 0; round < 20; round++) {
		by_all(add_all);
		assert_int_equal(many(), THREADS * ROUNDS);
	}
	fm_inode_clear(&some);
}

static void there_is_one(void **state)
{
	for (int round = 0; round < 20; round++) {
		by_all(add_once);
		assert_int_equal(many(), FILES);
		for (unsigned i = 0; i < FILES; i++)
			assert_non_null(kept_find(6, i));
	}
	fm_inode_clear(&some);
}

FM_UNIT(by_inode)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_found),
		cmocka_unit_test(who_stands_on_one_goes_on),
		cmocka_unit_test(none_is_lost),
		cmocka_unit_test(all_are_there),
		cmocka_unit_test(there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
