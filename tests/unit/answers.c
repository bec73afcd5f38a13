/* SPDX-License-Identifier: MIT */
/* Since when a file has not answered: not for longer than it has been asked. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/sys.h"
#include "file/file.h"
#include "io/answers.h"
#include "io/store.h"

#define FILES 400000
#define MOST_MS 60000u /* far more than this takes */

static struct fm_file_io *files;
static struct fm_file_io *_Atomic now;

/* Nothing has ever been heard of each of these. */
static void *begin_each(void *arg)
{
	for (unsigned k = 0; k < FILES; k++) {
		struct fm_file f = { .io = &files[k] };
		struct fm_io io = { .file = &f };

		atomic_store(&now, &files[k]);
		fm_answers_begin(&io);
	}
	atomic_store(&now, NULL);
	return NULL;
}

static void first_one_begins(void **state)
{
	struct fm_file_io *io;
	pthread_t t;
	uint64_t most = 0;

	files = calloc(FILES, sizeof(*files));
	assert_non_null(files);
	atomic_store(&now, files);
	assert_int_equal(pthread_create(&t, NULL, begin_each, NULL), 0);
	while ((io = atomic_load(&now))) {
		struct fm_file f = { .io = io };
		uint64_t ms = fm_answers_silent_ms(&f);

		most = ms > most ? ms : most;
	}
	pthread_join(t, NULL);
	assert_in_range(most, 0, MOST_MS);
	free(files);
}

static void the_last_one_ends(void **state)
{
	struct fm_file_io io = { .heard_ms = 1 };
	struct fm_file f = { .io = &io };
	struct fm_io a = { .file = &f }, b = { .file = &f };

	assert_int_equal(fm_answers_silent_ms(&f), 0);
	fm_answers_begin(&a);
	atomic_store(&io.heard_ms, 1);
	fm_answers_begin(&b); /* which says nothing of the first */
	assert_true(fm_answers_silent_ms(&f) > 1);
	fm_answers_end(&a);
	assert_in_range(fm_answers_silent_ms(&f), 0, MOST_MS);
	fm_answers_end(&b);
	fm_answers_end(&b);
	assert_int_equal(fm_answers_silent_ms(&f), 0);
	assert_int_equal(atomic_load(&io.asked), 0);
}

FM_UNIT(answers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_one_begins),
		cmocka_unit_test(the_last_one_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
