/* SPDX-License-Identifier: MIT */
/* Streams: which faults become one, and how many reads the reader still waits
 * for. The reader is played; what is read ahead lands at once. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define fm_chunk_read played_read
#define fm_chunk_take played_take
#define fm_chunk_uncovered played_uncovered
#define fm_cache_limit played_limit
#define fm_frame_limit played_frames
#define fm_device_even_among played_even
#define fm_fetch_begin played_begin
#define fm_fetch_run played_run
#define fm_fetch_fits played_fits
#define fm_fetch_chunk played_chunk
#define fm_fetch_depth played_depth
#include "../../src/readahead/fetch.c"

#include "../../src/readahead/ahead.c"

#define PAGES ((uint64_t)1 << 20)
#define CHUNKS 65536

static struct fm_policy policy = { .map_ahead = 32 << 20 };
static struct fm_file_io own;
static struct fm_file_stats counts;
static struct fm_file_streaming streaming;
static struct fm_file_shares shares;
static struct fm_file file = { .policy = &policy, .io = &own, .st = &counts,
			       .streaming = &streaming, .shares = &shares };
static struct fm_map pieces[2], *map = pieces; /* the one that is read */
static uint32_t ahead[PAGES]; /* chunk that covers the page, or 0 */
static bool present[PAGES];
static struct {
	uint64_t first, n;
} chunk[CHUNKS];
static uint32_t chunks;
static uint64_t waits, brought;
static uint64_t takes, turns; /* of these, with which something was asked for */
static bool slow; /* the device: the reader waits for each */

uint64_t played_limit(void)
{
	return PAGES / 4;
}

/* Frames for whole units; without any all is read in small buffers. */
static uint64_t frames;

uint64_t played_frames(void)
{
	return frames;
}

/* Pages that the device reads in place of one read of many. */
static uint32_t even;

uint32_t played_even(const struct fm_file *f)
{
	return even;
}

#define SKIP 16 /* as in chunk.c */

static bool full; /* no buffer */

/* To the last page that is missing, or where SKIP in a row are not. */
long played_read(struct fm_map *m, uint64_t i, uint64_t n, bool eager)
{
	uint64_t end = 0;

	if (full)
		return -EAGAIN;
	i += m->pgoff;
	(void)eager;
	assert_true(chunks + 1 < CHUNKS);
	for (uint64_t k = 0; k < n && k - end <= SKIP; k++) {
		if (present[i + k] || ahead[i + k])
			continue;
		ahead[i + k] = chunks + 1;
		brought++;
		end = k + 1;
	}
	if (!end)
		return 0;
	chunks++;
	chunk[chunks].first = i;
	chunk[chunks].n = end;
	return (long)end;
}

uint64_t played_uncovered(const struct fm_map *m, uint64_t i, uint64_t n,
			  uint64_t *ret_skip)
{
	uint64_t skip = 0, open = 0;

	i += m->pgoff;
	while (skip < n && ahead[i + skip])
		skip++;
	while (!skip && open < n && !ahead[i + open])
		open++;
	*ret_skip = skip;
	return open;
}

bool played_take(struct fm_map *m, uint64_t i, int64_t *ret_first,
		 uint64_t *ret_n, bool *ret_late)
{
	uint32_t c = ahead[m->pgoff + i];

	*ret_late = slow;
	*ret_first = (int64_t)(chunk[c].first - m->pgoff);
	*ret_n = chunk[c].n;
	for (uint64_t k = chunk[c].first; k < chunk[c].first + chunk[c].n; k++)
		if (ahead[k] == c) {
			present[k] = true;
			ahead[k] = 0;
		}
	return true;
}

static void touch_by(uint64_t i, uint32_t who)
{
	if (present[i])
		return;
	if (ahead[i]) {
		const uint64_t before = brought;
		int64_t first;

		fm_ahead_take(map, i - map->pgoff, who, &first);
		takes++;
		turns += brought > before;
		return;
	}
	waits++;
	present[i] = true;
	i -= map->pgoff;
	fm_ahead_fault(map, &(struct fm_seen){ .i = (int64_t)i,
					       .lo = (int64_t)i,
					       .hi = (int64_t)i + 1,
					       .who = who });
}

static void touch(uint64_t i)
{
	touch_by(i, 0);
}

static void lay(struct fm_map *m, uint64_t first)
{
	fm_streams_gone(m);
	memset(m, 0, sizeof(*m));
	m->file = &file;
	m->shared = true;
	m->pgoff = first;
	atomic_store(&m->start, ((uintptr_t)1 << 40) + first * FM_PAGE);
	atomic_store(&m->end, ((uintptr_t)1 << 40) + PAGES * FM_PAGE);
}

/* The reader will be in the upper piece. */
static void cut(uint64_t i)
{
	struct fm_map *n = map == pieces ? pieces + 1 : pieces;

	lay(n, i);
	fm_streams_split(map, n, i - map->pgoff);
	map = n;
}

static int begin(void **state)
{
	(void)state;
	map = pieces;
	lay(map, 0);
	atomic_store(&file.size, (int64_t)(PAGES * FM_PAGE));
	memset(ahead, 0, sizeof(ahead));
	memset(present, 0, sizeof(present));
	chunks = 0;
	waits = brought = takes = turns = 0;
	even = 1;
	frames = 32;
	slow = false;
	srandom(1);
	return 0;
}

static void forward(void **state)
{
	for (uint64_t i = 1000; i < 21000; i++)
		touch(i);
	assert_true(waits <= 3);
	assert_true(brought <= 20000 + 8192);
}

static void backward(void **state)
{
	for (uint64_t i = 21000; i > 1000; i--)
		touch(i);
	assert_true(waits <= 3);
}

/* Each turn of the thread that reads costs as much as a small read. */
static void forward_in_pieces(void **state)
{
	frames = 0;
	for (uint64_t i = 1000; i < 21000; i++)
		touch(i);
	assert_true(waits <= 3);
	assert_true(takes >= 20000 / 16 - 3);
	assert_true(turns <= takes / 8);
	assert_true(brought <= 20000 + 8192);
}

/* It must not wait for a turn that could be now. */
static void forward_in_pieces_waiting(void **state)
{
	frames = 0;
	slow = true;
	for (uint64_t i = 1000; i < 21000; i++)
		touch(i);
	assert_true(turns >= takes / 8 * 7);
}

static void strided_has_all_its_depth(void **state)
{
	frames = 0;
	for (uint64_t i = 0; i < 20000; i++)
		touch(i * 16);
	assert_true(turns >= takes / 8 * 7);
}

static void strided(void **state)
{
	for (uint64_t i = 0; i < 20000; i++)
		touch(i * 16);
	assert_true(waits <= 4);
	assert_true(brought <= 20000 + 96);
}

/* Where the device does few reads all that lies between is read, in frames. */
static void strided_on_a_disk(void **state)
{
	even = 1000;
	for (uint64_t i = 0; i < 20000; i++)
		touch(i * 16);
	assert_true(waits <= 4);
	assert_true(chunks <= 20000 / 32 + 32);
	assert_true(brought <= 16 * 20000 + 16384);
}

static void strided_down_on_a_disk(void **state)
{
	even = 1000;
	for (uint64_t i = 20000; i > 0; i--)
		touch(i * 16);
	assert_true(waits <= 4);
	assert_true(chunks <= 20000 / 32 + 32);
}

/* Threads share out what lies in order, so many pages for each at a time, and
 * none is as fast as the others. */
static void shared_out(uint64_t readers, uint64_t part)
{
	uint64_t at[8], end[8], next = 1000, left = readers;

	for (uint64_t k = 0; k < readers; k++, next += part)
		at[k] = next, end[k] = next + part;
	while (left) {
		const uint64_t k = (uint64_t)random() % readers;

		if (at[k] == end[k])
			continue;
		touch_by(at[k]++, 1 + (uint32_t)k);
		if (at[k] < end[k])
			continue;
		if (next < 41000) {
			at[k] = next;
			end[k] = next += part;
		} else {
			left--;
		}
	}
}

static void shared_out_in_order(void **state)
{
	for (uint64_t readers = 2; readers <= 8; readers *= 2)
		for (uint64_t part = 16; part <= 2048; part *= 2) {
			begin(state);
			shared_out(readers, part);
			assert_true(waits <= 4 * readers);
			assert_true(chunks <= 40000 / 512 + 40 * readers);
		}
}

/* What has been read is unmapped piece by piece. */
static void cut_behind(void **state)
{
	for (uint64_t i = 1000; i < 21000; i++) {
		if (i % 100 == 0)
			cut(i);
		touch(i);
	}
	assert_true(waits <= 3);
	assert_true(brought <= 20000 + 8192);
}

/* Streams that are nowhere near the cut stay where they are. */
static void cut_elsewhere(void **state)
{
	for (uint64_t i = 1000; i < 3000; i++)
		touch(i);
	waits = 0;
	cut(500000);
	assert_null(atomic_load(&map->streams));
	for (uint64_t i = 600000; i < 620000; i++)
		touch(i);
	assert_true(waits <= 3);
}

/* Rows of which a part was selected. */
static void selected(void **state)
{
	uint64_t i = 1000;

	for (int k = 0; k < 5000; k++, i += 1 + (uint64_t)random() % 16)
		touch(i);
	assert_true(waits <= 50);
}

static void selected_backward(void **state)
{
	uint64_t i = 200000;

	for (int k = 0; k < 5000; k++, i -= 1 + (uint64_t)random() % 16)
		touch(i);
	assert_true(waits <= 50);
}

static void two_selections(void **state)
{
	uint64_t a = 1000, b = 500000;

	for (int k = 0; k < 5000; k++) {
		touch(a += 1 + (uint64_t)random() % 8);
		touch(b += 1 + (uint64_t)random() % 8);
	}
	assert_true(waits <= 100);
}

/* What is missing lies between what is there, here and there at equal
 * distances, which are not what the reader does. */
static void combed(void **state)
{
	for (uint64_t i = 1000; i < 41000; i++)
		present[i] = !present[i - 1] || random() % 3;
	for (uint64_t i = 1000; i < 41000; i++)
		touch(i);
	assert_true(waits <= 50);
	assert_true(chunks <= 40000 / 16 + 50);
}

/* One thread has no races: a few patterns do where looking for them takes
 * thirty times as long. */
#ifdef __SANITIZE_THREAD__
#define MASKS_STEP (16 * 257)
#else
#define MASKS_STEP 257
#endif

/* Whatever the pattern. Where little is missing, some of it comes alone. */
static void combed_evenly(void **state)
{
	for (uint64_t mask = 1; mask < 1 << 20; mask += MASKS_STEP) {
		begin(state);
		for (uint64_t i = 1000; i < 11000; i++)
			present[i] = !(mask >> i % 20 & 1);
		for (uint64_t i = 1000; i < 11000; i++)
			touch(i);
		assert_true(waits <= 8);
		assert_true(chunks <= 10000 / 16 + 8 ||
			    __builtin_popcountll(mask) <= 3);
	}
}

/* Hardly any of it looks like a stream. */
static void at_random(void **state)
{
	for (int k = 0; k < 20000; k++)
		touch((uint64_t)random() % PAGES);
	assert_true(brought <= 200);
}

/* In a small area neighbours meet more often. */
static void at_random_nearby(void **state)
{
	for (int k = 0; k < 2000; k++)
		touch((uint64_t)random() % 16384);
	assert_true(brought <= 400);
}

/* No page is read that is further than so many from the reader. */
static void said_up(void **state)
{
	for (uint32_t k = 1; k <= 1000; k += 333) {
		begin(state);
		even = k;
		atomic_store(&map->ahead_most, 64);
		for (uint64_t i = 1000; i < 5000; i++) {
			touch(i);
			assert_true(!ahead[i + 65] && !present[i + 65]);
		}
		assert_true(waits <= 8);
	}
}

static void said_down(void **state)
{
	atomic_store(&map->ahead_most, 64);
	atomic_store(&map->advice, MADV_SEQUENTIAL);
	for (uint64_t i = 5000; i > 1000; i--) {
		touch(i);
		assert_true(!ahead[i - 66] && !present[i - 66]);
	}
	assert_true(waits <= 8);
}

static void said_strided(void **state)
{
	atomic_store(&map->ahead_most, 64);
	for (uint64_t i = 0; i < 20000; i++) {
		touch(i * 16);
		assert_true(!ahead[(i + 5) * 16]);
	}
	assert_true(waits <= 8);
}

static void said_more(void **state)
{
	atomic_store(&map->ahead_most, UINT32_MAX);
	forward(state);
	assert_true(brought <= 20000 + played_limit() / 8 + FM_HUGE_PAGES);
}

static void said_none(void **state)
{
	atomic_store(&map->ahead_most, 1);
	for (uint64_t i = 1000; i < 3000; i++)
		touch(i);
	assert_int_equal(brought, 0);
}

/* Its end is what the reader comes to first. */
static void down_without_a_buffer(void **state)
{
	for (uint64_t k = 512; k < 552; k++)
		ahead[k] = 1;
	full = true;
	assert_int_equal(fm_fetch_chunk(map, 512, 1024, FM_CHUNK_DOWN), 0);
	full = false;
	assert_int_equal(fm_fetch_chunk(map, 512, 1024, FM_CHUNK_DOWN), 512);
	assert_int_equal(brought, 512 - 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(forward, begin),
		cmocka_unit_test_setup(backward, begin),
		cmocka_unit_test_setup(forward_in_pieces, begin),
		cmocka_unit_test_setup(forward_in_pieces_waiting, begin),
		cmocka_unit_test_setup(strided_has_all_its_depth, begin),
		cmocka_unit_test_setup(strided, begin),
		cmocka_unit_test_setup(strided_on_a_disk, begin),
		cmocka_unit_test_setup(strided_down_on_a_disk, begin),
		cmocka_unit_test_setup(shared_out_in_order, begin),
		cmocka_unit_test_setup(down_without_a_buffer, begin),
		cmocka_unit_test_setup(cut_behind, begin),
		cmocka_unit_test_setup(cut_elsewhere, begin),
		cmocka_unit_test_setup(selected, begin),
		cmocka_unit_test_setup(selected_backward, begin),
		cmocka_unit_test_setup(two_selections, begin),
		cmocka_unit_test_setup(combed, begin),
		cmocka_unit_test_setup(combed_evenly, begin),
		cmocka_unit_test_setup(said_up, begin),
		cmocka_unit_test_setup(said_down, begin),
		cmocka_unit_test_setup(said_strided, begin),
		cmocka_unit_test_setup(said_more, begin),
		cmocka_unit_test_setup(said_none, begin),
		cmocka_unit_test_setup(at_random, begin),
		cmocka_unit_test_setup(at_random_nearby, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
