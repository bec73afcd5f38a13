/* SPDX-License-Identifier: MIT */
/* Requests to hand files over: none is lost, whoever asks at once. */
#include "unit.h"

#include <string.h>
#include <time.h>

#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "file/demote_queue.h"
#include "file/file.h"

#define FILES 3
#define SOON_MS 20
#define LONG_MS 10000

/* Instead of the table. */
static struct fm_file files[FILES];
static struct fm_file_demote asked_of[FILES];
static char done[64]; /* a letter for each file, in order */
static struct fm_file *asks_again;
static uint32_t again;

struct fm_file *fm_file_at(uint32_t id)
{
	return id == 1 ? NULL : &files[id]; /* a free slot in between */
}

uint32_t fm_file_top(void)
{
	return FILES;
}

static int demote(struct fm_file *f, enum fm_server_reason why)
{
	const char letter = (char)why;

	strncat(done, &letter, 1);
	if (f == asks_again)
		again = fm_demote_ask(f, (enum fm_server_reason)'r');
	asks_again = NULL;
	return 0;
}

static void serve(void)
{
	if (fm_demote_take())
		fm_demote_each(demote);
}

FM_UP(demote_queue, serve)

static int begin(void **state)
{
	memset(asked_of, 0, sizeof(asked_of));
	for (int k = 0; k < FILES; k++)
		files[k].demote = &asked_of[k];
	memset(done, 0, sizeof(done));
	asks_again = NULL;
	fm_demote_queue_reset();
	return 0;
}

static void two_at_once_are_both_done(void **state)
{
	uint32_t a = fm_demote_ask(&files[0], (enum fm_server_reason)'a');
	uint32_t c = fm_demote_ask(&files[2], (enum fm_server_reason)'c');

	assert_false(fm_demote_wait(&files[0], a, SOON_MS));
	fm_demote_queue_serve();
	assert_string_equal(done, "ac");
	assert_true(fm_demote_wait(&files[0], a, 0));
	assert_true(fm_demote_wait(&files[2], c, 0));
}

static void many_requests_for_one_are_one(void **state)
{
	uint32_t last = 0;

	for (int k = 0; k < 1000; k++)
		last = fm_demote_ask(&files[2], (enum fm_server_reason)'c');
	fm_demote_queue_serve();
	fm_demote_queue_serve();
	assert_string_equal(done, "c");
	assert_true(fm_demote_wait(&files[2], last, 0));
}

/* What was asked after it began is another attempt. */
static void asked_meanwhile_is_done_again(void **state)
{
	uint32_t first = fm_demote_ask(&files[0], (enum fm_server_reason)'a');

	asks_again = &files[0];
	fm_demote_queue_serve();
	assert_true(fm_demote_wait(&files[0], first, 0));
	assert_false(fm_demote_wait(&files[0], again, SOON_MS));
	fm_demote_queue_serve();
	assert_string_equal(done, "ar");
	assert_true(fm_demote_wait(&files[0], again, 0));
}

static void counts_may_wrap(void **state)
{
	atomic_store(&asked_of[0].asked, UINT32_MAX);
	atomic_store(&asked_of[0].answered, UINT32_MAX);
	fm_demote_ask(&files[0], (enum fm_server_reason)'a');
	assert_false(fm_demote_wait(&files[0], 0, 0));
	fm_demote_queue_serve();
	assert_true(fm_demote_wait(&files[0], 0, 0));
}

static void all_shared_ones_are_wanted_once(void **state)
{
	fm_demote_ask_shared(FM_WHY_FORK);
	assert_int_equal(fm_demote_take_shared(), FM_WHY_FORK);
	assert_int_equal(fm_demote_take_shared(), FM_WHY_NONE);
}

static void a_child_of_fork_begins_anew(void **state)
{
	fm_demote_ask(&files[0], (enum fm_server_reason)'a');
	fm_demote_ask_shared(FM_WHY_FORK);
	fm_demote_queue_reset();
	fm_demote_queue_serve();
	assert_string_equal(done, "");
	assert_int_equal(fm_demote_take_shared(), FM_WHY_NONE);
}

static void *serve_later(void *arg)
{
	const struct timespec ms = { 0, SOON_MS * 1000000l };

	nanosleep(&ms, NULL);
	fm_demote_queue_serve();
	return NULL;
}

static void who_waits_is_woken(void **state)
{
	uint32_t asked = fm_demote_ask(&files[0], (enum fm_server_reason)'a');

	assert_int_equal(fm_thread_create(serve_later, NULL), 0);
	assert_true(fm_demote_wait(&files[0], asked, LONG_MS));
	while (fm_thread_any())
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* The process has been killed, and a child of vfork is left with its memory. */
static void nobody_is_left_to_wait_for(void **state)
{
	uint32_t asked = fm_demote_ask(&files[0], (enum fm_server_reason)'a');
	uint64_t begin = fm_now_ms();

	assert_false(fm_demote_wait(&files[0], asked, LONG_MS));
	assert_true(fm_now_ms() - begin < LONG_MS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_at_once_are_both_done, begin),
		cmocka_unit_test_setup(many_requests_for_one_are_one, begin),
		cmocka_unit_test_setup(asked_meanwhile_is_done_again, begin),
		cmocka_unit_test_setup(counts_may_wrap, begin),
		cmocka_unit_test_setup(all_shared_ones_are_wanted_once, begin),
		cmocka_unit_test_setup(a_child_of_fork_begins_anew, begin),
		cmocka_unit_test_setup(nobody_is_left_to_wait_for, begin),
		cmocka_unit_test_setup(who_waits_is_woken, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
