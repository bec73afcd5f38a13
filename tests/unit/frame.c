/* SPDX-License-Identifier: MIT */
/* Frames: what is moved, what is bought, what comes back. Fresh memory is made
 * dear by making copies cheap. */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "cache/frame.h"
#include "cache/huge.h"
#include "map/map.h"
#include "map/uffd.h"

#define FRAMES 8

static bool have;

static void copies_cost(uint64_t ns)
{
	for (int k = 0; k < 200; k++) /* a running mean of the last few */
		fm_frame_copied(ns);
}

static int setup(void **state)
{
	struct fm_uffd_caps c = { 0 };

	have = fm_uffd_open(true, &c) == 0 && c.move;
	if (!have)
		print_message("no userfaultfd, or one that cannot move\n");
	return have ? fm_frame_start(FRAMES, 0) : 0;
}

static uint64_t get_all(struct fm_frame **fr)
{
	uint64_t n = 0;

	while (n < FRAMES && (fr[n] = fm_frame_get()))
		n++;
	return n;
}

static void put_all(struct fm_frame **fr, uint64_t n)
{
	while (n)
		fm_frame_put(fr[--n]);
}

static void limits(void **state)
{
	struct fm_frame *fr[FRAMES];
	uint64_t n;

	if (!have)
		skip();
	assert_true(fm_frame_on());
	assert_int_equal(fm_frame_limit(), FRAMES - FRAMES / 4);
	n = get_all(fr);
	for (uint64_t k = 0; k < n; k++) {
		assert_true(fr[k]->full);
		assert_int_equal((uintptr_t)fr[k]->mem % FM_HUGE, 0);
		fr[k]->mem[FM_HUGE - 1] = 1;
	}
	assert_int_equal(n, fm_frame_limit());
	put_all(fr, n);
}

/* A cache that has room need not be made larger for it. */
static void room(void **state)
{
	const uint64_t cache = (uint64_t)64 << 20;
	struct fm_frame *fr[FRAMES];

	if (!have)
		skip();
	fm_cache_resize(cache);
	fm_frame_rest();
	fm_frame_allow(cache);
	assert_int_equal(fm_frame_limit(), 2);
	fm_frame_wish(6);
	assert_int_equal(fm_frame_limit(), 6);
	assert_int_equal(get_all(fr), 6);
	put_all(fr, 6);
	fm_cache_resize(FM_HUGE);
	assert_int_equal(fm_frame_limit(), 2);
	fm_cache_resize(16 * FM_HUGE); /* half of it */
	assert_int_equal(fm_frame_limit(), 6);
	fm_frame_rest();
}

/* A cache of 64 MiB that is full: two, and up to four while a stream would fill
 * more. */
static void wishes(void **state)
{
	const uint64_t cache = (uint64_t)64 << 20;

	if (!have)
		skip();
	fm_cache_resize(FM_PAGE);
	fm_frame_allow(cache);
	assert_int_equal(fm_frame_limit(), 2);
	fm_frame_wish(3);
	fm_frame_allow(cache);
	assert_int_equal(fm_frame_limit(), 3);
	fm_frame_wish(100);
	assert_int_equal(fm_frame_allow(cache), 4 * FM_HUGE);
	for (int k = 0; k < 2; k++) {
		usleep(1010000);
		fm_frame_allow(cache);
	}
	assert_int_equal(fm_frame_limit(), 2);
	assert_int_equal(fm_frame_allow(16 * FRAMES * FM_HUGE),
			 FRAMES * FM_HUGE);
}

/* All ready: any may go. All in use, fresh ones dear: none may, until copies
 * have cost as much as one. Then one may. */
static void buying(void **state)
{
	struct fm_frame *fr[FRAMES], *more;
	uint64_t n, refused = 0;

	if (!have)
		skip();
	copies_cost(1000);
	assert_true(fm_frame_pays());
	n = get_all(fr);
	assert_false(fm_frame_buy());
	do
		assert_true(++refused < 100000);
	while (!fm_frame_pays() && !fm_frame_buy());
	assert_true(refused > 1);
	assert_true(fm_frame_pays());
	assert_false(fm_frame_pays());
	more = fm_frame_get();
	assert_non_null(more);
	assert_null(fm_frame_get());
	fm_frame_put(more);
	put_all(fr, n);
}

/* Cheap fresh memory needs no buying. */
static void cheap(void **state)
{
	struct fm_frame *fr[FRAMES];
	uint64_t n;

	if (!have)
		skip();
	copies_cost(1000000000);
	n = get_all(fr);
	for (int k = 0; k < 100; k++)
		assert_true(fm_frame_pays());
	assert_false(fm_frame_buy());
	put_all(fr, n);
}

static char *target(void)
{
	char *at = fm_sys_far(2 * FM_HUGE, PROT_READ | PROT_WRITE), *to;

	assert_true((uintptr_t)at < (uintptr_t)-4095);
	to = (char *)(((uintptr_t)at + FM_HUGE - 1) & ~(FM_HUGE - 1));
	to[0] = 1;
	assert_int_equal(fm_uffd_register(to, FM_HUGE), 0);
	return to;
}

/* A full frame, and an empty target with an empty page table. */
static struct fm_frame *frame_for(char **ret_to)
{
	struct fm_frame *fr = fm_frame_get();

	assert_non_null(fr);
	*ret_to = target();
	fm_uffd_drop(*ret_to, FM_PAGE);
	return fr;
}

/* Memory that was moved away and back is the same memory, and an empty page
 * table at the target does not keep a frame from coming. */
static void there_and_back(void **state)
{
	struct fm_frame *fr;
	char *to;

	if (!have)
		skip();
	fr = frame_for(&to);
	for (size_t k = 0; k < FM_HUGE; k += FM_PAGE)
		*(uint64_t *)(fr->mem + k) = k + 1;
	assert_int_equal(fm_frame_move(to, fr->mem), 0);
	for (size_t k = 0; k < FM_HUGE; k += FM_PAGE)
		assert_int_equal(*(uint64_t *)(to + k), k + 1);
	assert_int_equal(fm_frame_move(fr->mem, to), 0);
	for (size_t k = 0; k < FM_HUGE; k += FM_PAGE)
		assert_int_equal(*(uint64_t *)(fr->mem + k), k + 1);
	fm_frame_put(fr);
}

/* Where there is swap: protected pages that are out of memory when they come to
 * a frame do not keep a read of a file from filling it. */
static void swapped(void **state)
{
	struct fm_frame *fr;
	char *to;
	int fd;

	if (!have)
		skip();
	fd = open("/dev/zero", O_RDONLY);
	fr = frame_for(&to);
	assert_int_equal(fm_frame_move(to, fr->mem), 0);
	assert_int_equal(fm_uffd_protect(to, FM_HUGE, true), 0);
	madvise(to, FM_HUGE, MADV_PAGEOUT);
	assert_int_equal(fm_frame_move(fr->mem, to), 0);
	assert_int_equal(read(fd, fr->mem, FM_HUGE), FM_HUGE);
	close(fd);
	fm_frame_put(fr);
}

/* A kernel that moved pages without counting them says that they are there, as
 * it does of a page that was there before; and without memory none can have
 * moved. Both must not count as nothing. */
static void in_doubt(void **state)
{
	struct fm_frame *fr;
	char *to;

	if (!have)
		skip();
	to = target();
	fr = fm_frame_get();
	assert_non_null(fr);
	assert_int_equal(fm_uffd_move(to, fr->mem, FM_HUGE), -EXDEV);
	fm_uffd_drop(to, FM_HUGE);
	fm_uffd_drop(fr->mem, FM_HUGE);
	assert_int_equal(fm_uffd_move(to, fr->mem, FM_HUGE), -EXDEV);
	fm_frame_gone(fr);
	fm_frame_put(fr);
}

/* Whatever the program cannot store to, shared or private. */
static void where_units_go(void **state)
{
	struct fm_map m = { .start = FM_HUGE, .end = 3 * FM_HUGE,
			    .prot = PROT_READ };

	assert_true(fm_huge_fits(&m, 0));
	m.shared = true;
	assert_true(fm_huge_fits(&m, FM_HUGE_PAGES));
	assert_false(fm_huge_fits(&m, 1));
	atomic_store(&m.prot, PROT_READ | PROT_WRITE);
	assert_false(fm_huge_fits(&m, 0));
	m.shared = false;
	assert_false(fm_huge_fits(&m, 0));
}

static bool is_there(const struct fm_frame *fr)
{
	unsigned char there = 0;

	return !mincore(fr->mem, FM_PAGE, &there) && (there & 1);
}

/* What waits gives its memory back, what is in use does not, and comes back. */
static void rest(void **state)
{
	struct fm_frame *fr[FRAMES], *used;
	uint64_t n;

	if (!have)
		skip();
	n = get_all(fr);
	assert_true(n > 1);
	used = fr[--n];
	put_all(fr, n);
	fm_frame_rest();
	assert_true(is_there(used));
	for (uint64_t k = 0; k < n; k++)
		assert_false(is_there(fr[k]));
	fm_frame_put(used);
	assert_int_equal(get_all(fr), n + 1);
	for (uint64_t k = 0; k <= n; k++)
		assert_true(is_there(fr[k]));
	put_all(fr, n + 1);
}

FM_UNIT(frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_units_go),
		cmocka_unit_test(limits),
		cmocka_unit_test(buying),
		cmocka_unit_test(cheap),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(swapped),
		cmocka_unit_test(in_doubt),
		cmocka_unit_test(rest),
		cmocka_unit_test(wishes),
		cmocka_unit_test(room),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
