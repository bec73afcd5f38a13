/* SPDX-License-Identifier: MIT */
/* A ticket is over when the last of its pieces is, whoever drops it; who waits
 * hears of it, by the number, by a descriptor, and after its slot is used
 * again. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/ticket.h"

#define THREADS 8
#define ROUNDS 2000

static void it_ends_with_its_last_piece(void **state)
{
	uint64_t mask;
	const uint64_t t = fm_ticket_take(&mask);

	assert_int_not_equal(t, 0);
	fm_ticket_add(mask);
	fm_ticket_drop(mask);
	assert_int_equal(fm_ticket_over(t), 0);
	assert_int_equal(fm_ticket_wait(t, 0), -ETIMEDOUT);
	assert_int_equal(fm_ticket_wait(t, 1), -ETIMEDOUT);
	assert_int_equal(fm_ticket_count(), 1);
	fm_ticket_drop(mask);
	assert_int_equal(fm_ticket_over(t), 1);
	assert_int_equal(fm_ticket_wait(t, -1), 0);
	assert_int_equal(fm_ticket_count(), 0);
}

static void old_numbers_are_over(void **state)
{
	uint64_t mask, first = 0, t;

	for (int i = 0; i < 3 * FM_TICKETS; i++) {
		t = fm_ticket_take(&mask);
		first = first ? first : t;
		fm_ticket_drop(mask);
	}
	assert_int_equal(fm_ticket_over(first), 1);
	assert_int_equal(fm_ticket_over(0), 1);
	assert_int_equal(fm_ticket_over(first + 1000 * 2 * FM_TICKETS),
			 -EINVAL);
	assert_int_equal(fm_ticket_over(1), -EINVAL);
}

static void there_are_no_more_than_a_mask_has(void **state)
{
	uint64_t mask, all = 0;

	for (int i = 0; i < FM_TICKETS; i++) {
		assert_int_not_equal(fm_ticket_take(&mask), 0);
		all |= mask;
	}
	assert_true(all == UINT64_MAX);
	assert_int_equal(fm_ticket_take(&mask), 0);
	assert_int_equal(mask, 0);
	fm_ticket_add(mask);
	fm_ticket_drop(mask);
	fm_ticket_drop(all);
	assert_int_equal(fm_ticket_count(), 0);
}

static bool is_readable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

static void a_descriptor_tells(void **state)
{
	uint64_t mask;
	const uint64_t t = fm_ticket_take(&mask);
	const int fd = fm_ticket_fd(t);
	int late;

	assert_true(fd >= 0);
	assert_false(is_readable(fd));
	assert_int_equal(fm_ticket_fd(t), -EBUSY);
	fm_ticket_drop(mask);
	assert_true(is_readable(fd));
	late = fm_ticket_fd(t);
	assert_true(is_readable(late));
	close(late);
	close(fd);
}

static void a_closed_descriptor_is_no_harm(void **state)
{
	uint64_t mask;
	const uint64_t t = fm_ticket_take(&mask);
	int p[2], fd = fm_ticket_fd(t);

	close(fd);
	assert_int_equal(pipe(p), 0);
	fm_ticket_drop(mask);
	assert_false(is_readable(p[0]));
	close(p[0]);
	close(p[1]);
}

/* ---- threads ------------------------------------------------------------ */

static _Atomic uint64_t handed; /* mask, to be dropped by whoever gets it */

static void *dropper(void *arg)
{
	const _Atomic bool *stop = arg;

	while (!atomic_load(stop))
		fm_ticket_drop(atomic_exchange(&handed, 0));
	return NULL;
}

/* Two pieces of one ticket may be in the same hand: one of them is dropped. */
static void hand_over(uint64_t mask)
{
	fm_ticket_add(mask);
	fm_ticket_drop(atomic_fetch_or(&handed, mask) & mask);
}

static void *asker(void *arg)
{
	for (int k = 0; k < ROUNDS; k++) {
		uint64_t mask;
		const uint64_t t = fm_ticket_take(&mask);

		hand_over(mask);
		hand_over(mask);
		fm_ticket_drop(mask);
		if (fm_ticket_wait(t, -1))
			return NULL;
	}
	return arg;
}

static void none_waits_for_ever(void **state)
{
	pthread_t t[THREADS], d;
	_Atomic bool stop = false;
	int one;
	void *ok;

	assert_int_equal(pthread_create(&d, NULL, dropper, &stop), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, asker, &one), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &ok);
		assert_ptr_equal(ok, &one);
	}
	atomic_store(&stop, true);
	pthread_join(d, NULL);
	assert_int_equal(fm_ticket_count(), 0);
}

FM_UNIT(ticket)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_with_its_last_piece),
		cmocka_unit_test(old_numbers_are_over),
		cmocka_unit_test(there_are_no_more_than_a_mask_has),
		cmocka_unit_test(a_descriptor_tells),
		cmocka_unit_test(a_closed_descriptor_is_no_harm),
		cmocka_unit_test(none_waits_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
