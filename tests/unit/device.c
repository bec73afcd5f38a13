/* SPDX-License-Identifier: MIT */
/* device.h - what reads cost, from reads that are made up. */
#include "unit.h"

#include "base/sys.h"
#include "io/io.h"

extern const struct fm_store fm_store_pread;

/* Time passes when a test says so: no thread that waits for a CPU is in it. */
static uint64_t time_ns = 1000000000000;

static int made_up_clock(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){ (time_t)(time_ns / 1000000000),
				  (long)(time_ns % 1000000000) };
	return 0;
}

struct world {
	struct fm_file f;
	struct fm_file_io io;
};

static struct world *world_of(dev_t dev)
{
	static struct world w;

	w = (struct world){ .f = { .dev = dev, .io = &w.io } };
	w.io.device = fm_device_of(dev);
	atomic_init(&w.io.store, &fm_store_pread);
	return &w;
}

static struct fm_io read_of(struct fm_file *f, uint64_t pages)
{
	return (struct fm_io){ .file = f, .op = FM_READ,
			       .len = pages * FM_PAGE,
			       .res = (int32_t)(pages * FM_PAGE) };
}

static void alone(struct fm_file *f, uint64_t pages, uint64_t ns)
{
	struct fm_io io = read_of(f, pages);

	fm_device_begin(&io);
	time_ns += ns;
	fm_device_end(&io);
}

/* n reads at once, of a device that does one after the other. */
static void together(struct fm_file *f, unsigned n, uint64_t pages, uint64_t ns)
{
	struct fm_io io[64];

	for (unsigned k = 0; k < n; k++) {
		io[k] = read_of(f, pages);
		fm_device_begin(&io[k]);
	}
	time_ns += n * ns;
	for (unsigned k = 0; k < n; k++)
		fm_device_end(&io[k]);
}

static void unknown_is_a_common_disk(void **state)
{
	struct world *w = world_of(1);

	assert_int_equal(fm_device_even(&w->f), 24);
	assert_int_equal(fm_device_even_among(&w->f), 0);
	assert_int_equal(fm_device_ns(&w->f, 0), 100000);
}

static void a_line_through_reads_that_are_alone(void **state)
{
	struct world *w = world_of(2);

	for (unsigned k = 0; k < 200; k++)
		alone(&w->f, k % 2 ? 1 : 65, k % 2 ? 6020000 : 7300000);
	assert_in_range(fm_device_ns(&w->f, 0), 5900000, 6100000);
	assert_in_range(fm_device_even(&w->f), 250, 350); /* 6 ms at 20 us */
}

/* Held back to 150 a second: 15 at once, and then none for 0.1 s. What it takes
 * on the average is the fixed part, whatever sizes the slow ones had. */
static void a_disk_in_bursts(void **state)
{
	struct world *w = world_of(7);

	for (unsigned k = 0; k < 300; k++)
		alone(&w->f, k % 7 ? 1 : 3, k % 15 == 14 ? 98600000 : 100000);
	assert_in_range(fm_device_ns(&w->f, 0), 4500000, 8500000);
	assert_in_range(fm_device_even(&w->f), 250, 4096);
}

/* Latencies overlap, or do not: the same alone, not among others. */
static void many_at_once_tell_a_disk_from_a_network(void **state)
{
	struct world *w = world_of(3);

	for (unsigned k = 0; k < 40; k++)
		together(&w->f, 16, k % 2 ? 1 : 65, k % 2 ? 110000 : 750000);
	assert_in_range(fm_device_even_among(&w->f), 8, 12); /* 100 us at 10 */
}

/* What is never tried is never known: reads of one size ask for others. */
static void one_size_asks_for_another(void **state)
{
	struct world *w = world_of(4);
	unsigned asked = 0;

	for (unsigned k = 0; k < 80; k++) {
		together(&w->f, 8, 1, 1000000); /* a point of the line */
		asked += fm_device_wants_other(&w->f);
	}
	assert_in_range(asked, 1, 4);
	/* 1 ms, and what is assumed of a page */
	assert_in_range(fm_device_even_among(&w->f), 200, 260);
}

/* Nor for long. */
static void a_stall_does_not_count_in_full(void **state)
{
	struct world *w = world_of(5);

	for (unsigned k = 0; k < 100; k++)
		alone(&w->f, k % 2 ? 1 : 17, k % 2 ? 101000 : 117000);
	alone(&w->f, 1, 20000000000);
	assert_in_range(fm_device_ns(&w->f, 1), 90000, 3000000);
	for (unsigned k = 0; k < 2000; k++)
		alone(&w->f, k % 2 ? 1 : 17, k % 2 ? 101000 : 117000);
	assert_in_range(fm_device_ns(&w->f, 1), 90000, 130000);
}

/* Its pages take what memory does, and a read of one hardly more. */
static void memory_is_told_by_short_reads(void **state)
{
	struct world *w = world_of(9);

	for (unsigned k = 0; k < 200; k++)
		alone(&w->f, k % 8 ? 1 : 8, k % 8 ? 2000 : 14000);
	assert_in_range(fm_device_memory_ns(&w->f), 1, 20000);
}

/* Of a long read its pages take nearly all on any device. */
static void long_reads_make_no_memory(void **state)
{
	struct world *w = world_of(10);

	for (unsigned k = 0; k < 200; k++)
		alone(&w->f, 512, k % 9 ? 10000000 : 11000000);
	assert_int_equal(fm_device_memory_ns(&w->f), 0);
}

/* Most reads of one that is held back take no time, and its pages some. */
static void nor_do_bursts(void **state)
{
	struct world *w = world_of(11);

	for (unsigned k = 0; k < 600; k++)
		alone(&w->f, k % 2 ? 1 : 8, k % 15 == 14 ? 98600000 : 100000);
	assert_int_equal(fm_device_memory_ns(&w->f), 0);
}

/* Cut short by the end of the file, or failed. */
static void a_short_read_says_nothing(void **state)
{
	struct world *w = world_of(6);
	struct fm_device_figures d;
	struct fm_io io = read_of(&w->f, 4);

	io.res = 100;
	fm_device_begin(&io);
	fm_device_end(&io);
	fm_device_figures(&w->f, &d);
	assert_int_equal(d.reads, 0);
	alone(&w->f, 1, 1000);
	fm_device_figures(&w->f, &d);
	assert_int_equal(d.reads, 1); /* and it is not in flight any more */
}

/* What the kernel's reads have taken goes first, of devices of which we have
 * read nothing, too. */
static void waits_for_the_kernel_have_a_line(void **state)
{
	struct fm_device_price p = fm_device_price(50);

	assert_int_equal(p.page, 4096);
	assert_int_equal(p.read, 104096);
	for (unsigned k = 0; k < 40; k++)
		fm_device_waited(50, 1, 6700000 + 27000);
	assert_int_equal(fm_device_price(50).page, 4096); /* of one size */
	for (unsigned k = 0; k < 40; k++) {
		fm_device_waited(50, 1, 6700000 + 27000);
		fm_device_waited(50, 2048, 6700000 + 2048 * 27000);
	}
	p = fm_device_price(50);
	assert_in_range(p.page, 26000, 28000);
	assert_in_range(p.read, 6000000, 7500000);
	assert_int_equal(fm_device_price(51).read, 104096);
}

/* The first one, of a file of the kernel's or of ours. */
static void one_late_read_tells(void **state)
{
	const uint64_t mib = 1 << 20;
	struct world *w = world_of(12);

	assert_int_equal(fm_device_hidden(60), 24 * FM_PAGE);
	fm_device_took(60, 1, 20000000);
	assert_in_range(fm_device_hidden(60), 8 * mib, 20 * mib);
	assert_false(fm_device_has_told(60)); /* a processor may be late */
	fm_device_took(60, 1, 20000000);
	assert_true(fm_device_has_told(60));
	assert_false(fm_device_is_known(60));
	alone(&w->f, 32, 5100000);
	assert_in_range(fm_device_hides(&w->f), 512, 1500);
	assert_int_equal(fm_device_even(&w->f), 24); /* not for random reads */
	assert_in_range(fm_device_late_ns(12), 2400000, 5000000);
}

/* The least of the first ones is what the device takes. */
static void a_late_processor_tells_little(void **state)
{
	fm_device_took(61, 1, 20000000);
	fm_device_took(61, 1, 120000);
	assert_in_range(fm_device_hidden(61), 20 * FM_PAGE, 32 * FM_PAGE);
	for (unsigned k = 0; k < 10; k++)
		fm_device_took(61, 1, 120000);
	assert_true(fm_device_is_known(61));
}

FM_UNIT(device)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_is_a_common_disk),
		cmocka_unit_test(a_line_through_reads_that_are_alone),
		cmocka_unit_test(a_disk_in_bursts),
		cmocka_unit_test(many_at_once_tell_a_disk_from_a_network),
		cmocka_unit_test(one_size_asks_for_another),
		cmocka_unit_test(a_stall_does_not_count_in_full),
		cmocka_unit_test(memory_is_told_by_short_reads),
		cmocka_unit_test(long_reads_make_no_memory),
		cmocka_unit_test(nor_do_bursts),
		cmocka_unit_test(a_short_read_says_nothing),
		cmocka_unit_test(waits_for_the_kernel_have_a_line),
		cmocka_unit_test(one_late_read_tells),
		cmocka_unit_test(a_late_processor_tells_little),
	};

	fm_clock_found(made_up_clock);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
