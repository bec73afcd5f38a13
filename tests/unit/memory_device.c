/* SPDX-License-Identifier: MIT */
/* memory_device.h - what counts as read at once, and when that is enough. */
#include "unit.h"

#include <string.h>

#include "file/file.h"
#include "io/io.h"

#define WINDOW 256u

static const struct fm_store passes_by = { .name = "unit", .direct = true };
static const struct fm_store in_cache = { .name = "unit" };
static _Alignas(4096) char page[2 * FM_PAGE];

static struct fm_file file_on(const struct fm_store *s)
{
	struct fm_file f = { .io.buffered = -1 };

	atomic_init(&f.io.store, s);
	return f;
}

static void reads_of(struct fm_file *f, unsigned n, bool done, char first,
		     uint64_t ns)
{
	struct fm_io io = { .file = f, .buf = page, .len = FM_PAGE,
			    .op = FM_READ, .done = done, .res = FM_PAGE };

	page[0] = first;
	f->io.device = fm_device_of(f->dev);
	while (n--) {
		fm_device_begin(&io);
		io.began -= ns;
		fm_device_end(&io);
		fm_memory_device_note(&io);
	}
}

static void reads(struct fm_file *f, unsigned n, bool done, char first)
{
	reads_of(f, n, done, first, 0);
}

static void nine_of_ten_are_enough(void **state)
{
	struct fm_file f = file_on(&passes_by);

	reads(&f, 24, false, 'a');
	reads(&f, WINDOW - 25, true, 'a');
	assert_false(fm_on_memory_device(&f)); /* the last is missing */
	reads(&f, 1, true, 'a');
	assert_true(fm_on_memory_device(&f));
	assert_true(fm_memory_device_seen(&f));
	assert_false(fm_memory_device_seen(&f)); /* once */
	reads(&f, 30, false, 'a');
	reads(&f, WINDOW - 30, true, 'a');
	assert_false(fm_on_memory_device(&f));
}

static void a_disk_is_never_one(void **state)
{
	struct fm_file f = file_on(&passes_by);

	reads(&f, 8 * WINDOW, false, 'a');
	assert_false(fm_on_memory_device(&f));
}

/* Its completions are there when the call returns where the thread had to wait
 * for a processor meanwhile. */
static void a_disk_of_a_busy_machine_is_none(void **state)
{
	struct fm_file f = file_on(&passes_by);

	f.dev = 99;
	reads_of(&f, 8 * WINDOW, true, 'a', 100000);
	assert_false(fm_on_memory_device(&f));
}

static void zeros_do_not_count(void **state)
{
	struct fm_file f = file_on(&passes_by);

	reads(&f, 8 * WINDOW, true, 0);
	assert_false(fm_on_memory_device(&f));
	reads(&f, WINDOW, false, 'a'); /* nor did they before */
	assert_false(fm_on_memory_device(&f));
}

static void page_cache_does_not_count(void **state)
{
	struct fm_file f = file_on(&in_cache), g = file_on(&passes_by);
	struct fm_io io = { .file = &g, .buf = page, .len = FM_PAGE,
			    .op = FM_READ, .done = true, .buffered = true,
			    .res = FM_PAGE };

	reads(&f, 8 * WINDOW, true, 'a');
	assert_false(fm_on_memory_device(&f));
	for (unsigned i = 0; i < 8 * WINDOW; i++)
		fm_memory_device_note(&io);
	io.buffered = false;
	io.len = 2 * FM_PAGE; /* several pages do not, either */
	io.res = 2 * FM_PAGE;
	for (unsigned i = 0; i < 8 * WINDOW; i++)
		fm_memory_device_note(&io);
	assert_false(fm_on_memory_device(&g));
}

static void who_reads_ahead_stays(void **state)
{
	struct fm_file f = file_on(&passes_by);

	atomic_store(&f.st.ahead_pages, WINDOW);
	reads(&f, WINDOW, true, 'a');
	assert_false(fm_on_memory_device(&f));
	reads(&f, WINDOW, true, 'a'); /* no more since */
	assert_true(fm_on_memory_device(&f));
}

static void the_next_file_there_needs_fewer(void **state)
{
	struct fm_file f = file_on(&passes_by), g = f, other = f, late = f;

	other.dev = 7;
	reads(&f, WINDOW, true, 'a');
	assert_true(fm_on_memory_device(&f));
	reads(&g, 31, true, 'a');
	assert_false(fm_on_memory_device(&g));
	reads(&g, 1, true, 'a');
	assert_true(fm_on_memory_device(&g));
	reads(&other, 32, true, 'a');
	assert_false(fm_on_memory_device(&other));
	reads(&f, 32, false, 'a'); /* it is not any more */
	reads(&late, 32, true, 'a');
	assert_false(fm_on_memory_device(&late));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nine_of_ten_are_enough),
		cmocka_unit_test(a_disk_is_never_one),
		cmocka_unit_test(a_disk_of_a_busy_machine_is_none),
		cmocka_unit_test(zeros_do_not_count),
		cmocka_unit_test(page_cache_does_not_count),
		cmocka_unit_test(who_reads_ahead_stays),
		cmocka_unit_test(the_next_file_there_needs_fewer),
	};

	return cmocka_run_group_tests_name("memory_device", tests, NULL, NULL);
}
