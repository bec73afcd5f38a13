/* SPDX-License-Identifier: MIT */
/* A call in flight on a file is found, whatever happens to its descriptor
 * meanwhile; one on something else is not taken for it, however long it takes.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_part.h"
#include "base/types.h"
#include "engine.h"
#include "file/inflight_io.h"
#include "io/io.h"
#include "io/io.h"

static int file, other;
static struct stat st;

static int new_file(void)
{
	char name[] = "/tmp/inflight-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

static int setup(void **state)
{
	atomic_store(&fm_threads, true);
	file = new_file();
	other = new_file();
	return fstat(file, &st);
}

static bool unseen(void)
{
	static const struct fm_store direct = { .direct = true };
	struct fm_file *f = fm_file_alloc();
	bool seen;

	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->io->store = &direct;
	seen = fm_inflight_allow_direct(f);
	fm_free(f);
	return !seen;
}

static void become(int fd, int from, bool said)
{
	if (said)
		fm_close_begins(fd);
	assert_int_equal(dup2(from, fd), fd);
	if (said)
		fm_close_ends(fd);
}

static void test_found(void **state)
{
	unsigned slot = fm_read_enter(file);

	assert_true(unseen());
	fm_read_leave(slot);
	assert_false(unseen());
}

static void test_other(void **state)
{
	unsigned slot = fm_read_enter(other), more = fm_read_enter(-1);

	fm_read_leave(more);
	fm_close_begins(other + 1);
	fm_close_ends(other + 1);
	assert_false(unseen());
	fm_read_leave(slot);
}

static void test_closed(void **state)
{
	int fd = dup(file);
	unsigned slot = fm_read_enter(fd);

	become(fd, other, true);
	assert_true(unseen());
	fm_read_leave(slot);
	slot = fm_read_enter(fd);
	assert_false(unseen());
	fm_read_leave(slot);
	close(fd);
}

static void test_many_closed(void **state)
{
	int fd = dup(file);
	unsigned slot = fm_read_enter(fd);

	fm_close_begins(FM_ALL_FDS);
	become(fd, other, false);
	assert_true(unseen()); /* before the end is said */
	fm_close_ends(FM_ALL_FDS);
	assert_true(unseen());
	fm_read_leave(slot);
	close(fd);
}

/* The close has begun when the call begins, and has not ended. */
static void test_closing(void **state)
{
	int fd = dup(file);
	unsigned slot;

	fm_close_begins(fd);
	slot = fm_read_enter(fd);
	become(fd, other, false);
	assert_true(unseen());
	fm_close_ends(fd);
	assert_true(unseen());
	fm_read_leave(slot);
	close(fd);
}

static void test_gone(void **state)
{
	int fd = dup(file);
	unsigned slot = fm_read_enter(fd);

	close(fd); /* unsaid, but nothing has its number */
	assert_true(unseen());
	fm_read_leave(slot);
}

/* More calls than slots. */
static void test_crowd(void **state)
{
	unsigned slots[2 * FM_READS_FULL], n = 0;

	while (n < 2 * FM_READS_FULL) {
		slots[n] = fm_read_enter(other);
		if (slots[n++] == FM_READS_FULL)
			break;
	}
	assert_int_equal(slots[n - 1], FM_READS_FULL);
	assert_true(unseen()); /* nobody knows which */
	while (n)
		fm_read_leave(slots[--n]);
	assert_false(unseen());
}

static void test_write_closed(void **state)
{
	int fd = dup(file);
	unsigned slot = fm_write_enter(fd);

	become(fd, other, true);
	assert_false(fm_writes_wait(&st));
	fm_write_leave(slot);
	assert_true(fm_writes_wait(&st));
	close(fd);
}

/* Reads look as long as one file is stored to, however often that is said. */
static void test_look(void **state)
{
	struct fm_file_calls of_a = { 0 }, of_b = { 0 };
	struct fm_file a = { .calls = &of_a }, b = { .calls = &of_b };

	assert_false(fm_inflight_look());
	fm_inflight_stored(&a);
	fm_inflight_stored(&a);
	fm_inflight_stored(&b);
	fm_inflight_forget(&a);
	assert_true(fm_inflight_look());
	fm_inflight_forget(&a);
	assert_true(fm_inflight_look());
	fm_inflight_forget(&b);
	assert_false(fm_inflight_look());
}

FM_UNIT(inflight)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_many_closed),
		cmocka_unit_test(test_closing),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_write_closed),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
