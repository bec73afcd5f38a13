/* SPDX-License-Identifier: MIT */
/* store.h - which store takes a file, and what those do that have no device. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "policy.h"

extern const struct fm_store fm_store_null;

static struct fm_policy buffered = { .io = FM_IO_BUFFERED };

static int open_temp(struct stat *st)
{
	char name[] = "/tmp/fm_store.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, "twelve bytes", 12), 12);
	assert_int_equal(fstat(fd, st), 0);
	return fd;
}

static void policy_chooses_page_cache(void **state)
{
	struct fm_file_io own = { .buffered = -1, .direct = -1 };
	struct fm_file f = { .io = &own };
	const struct fm_store *s;
	struct stat st;
	int fd = open_temp(&st);

	f.policy = &buffered;
	s = fm_store_choose(&f, fd, &st);
	assert_string_equal(s->name, "pagecache");
	assert_false(s->direct);
	assert_true(s->keeps);
	assert_int_not_equal(f.io->dio_align, 0); /* write-back divides by it */
	close(fd);
}

/* No ring has been started here. */
static void page_cache_reads_by_pread(void **state)
{
	struct fm_file_io own = { .buffered = -1, .direct = -1,
				  .was = { -1, -1 } };
	struct fm_file f = { .io = &own };
	char buf[32] = "";
	struct fm_io io = { .file = &f, .buf = buf, .len = sizeof(buf),
			    .op = FM_READ };
	struct stat st;
	int fd = open_temp(&st);

	f.policy = &buffered;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	atomic_init(&f.io->store, fm_store_choose(&f, fd, &st));
	assert_int_equal(fm_store_of(&f)->open(&f, fd, O_RDONLY, true), 0);
	assert_true(fm_rings_start(1, false) == 1);
	assert_int_equal(fm_io_once(&io), 12);
	assert_string_equal(buf, "twelve bytes");
	assert_true(io.buffered); /* for who notes how a page was written */
	fm_store_of(&f)->close(&f);
	close(fd);
}

static void null_takes_holes_only(void **state)
{
	char *env[] = { "FASTMAP_NULL_STORE=1", NULL };
	struct fm_file_io own = { .store = NULL };
	struct fm_file f = { .path = "/tmp/a.null-store",
			     .policy = &buffered, .io = &own };
	struct stat hole = { .st_blocks = 0 }, full = { .st_blocks = 8 };

	fm_policy_load("store", env);
	assert_ptr_equal(fm_store_choose(&f, -1, &hole), &fm_store_null);
	assert_int_not_equal(f.io->dio_align, 0);
	assert_ptr_not_equal(fm_store_choose(&f, -1, &full), &fm_store_null);
}

static void null_reads_zeros_and_forgets(void **state)
{
	struct fm_file_io own = { .store = NULL };
	struct fm_file f = { .io = &own };
	char buf[4096];
	struct fm_io io = { .file = &f, .buf = buf, .len = sizeof(buf),
			    .op = FM_READ };

	memset(buf, 1, sizeof(buf));
	atomic_init(&f.io->store, &fm_store_null);
	assert_int_equal(fm_io_once(&io), sizeof(buf));
	assert_int_equal(buf[0] | buf[4095], 0);
	io.op = FM_WRITE;
	assert_int_equal(fm_io_once(&io), sizeof(buf));
	io.op = FM_FSYNC;
	assert_int_equal(fm_io_once(&io), 0);
	assert_false(fm_store_null.keeps);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A folder with files that an index makes one: "onetwothree". */
static void make_parts(char *dir, char *source, size_t size)
{
	char path[64];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/one", dir);
	write_text(path, "..one");
	snprintf(path, sizeof(path), "%s/a b", dir);
	write_text(path, "twothree");
	snprintf(path, sizeof(path), "%s/index", dir);
	write_text(path, "fastmap-files 1\none 2 3\n\n# more\na b 0 -\n");
	snprintf(source, size, "files:%s/index", dir);
}

static void remove_parts(const char *dir)
{
	static const char *const name[] = { "one", "a b", "index" };
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void files_are_one(void **state)
{
	char dir[] = "/tmp/fm_parts.XXXXXX", source[80], buf[64] = "";
	struct fm_backing *s;
	int err;

	make_parts(dir, source, sizeof(source));
	s = fm_backing_of(source, "/far", &err);
	assert_non_null(s);
	assert_ptr_equal(fm_backing_of(source, "/far", &err), s);
	assert_int_equal(fm_backing_size(s), 11);
	/* no more than one part at a time; the caller takes it up again */
	assert_int_equal(fm_backing_read(s, buf, 1, 30), 2);
	assert_int_equal(fm_backing_read(s, buf + 2, 3, 30), 8);
	assert_string_equal(buf, "netwothree");
	assert_int_equal(fm_backing_read(s, buf, 11, 30), 0);
	remove_parts(dir);
}

static void files_that_are_not(void **state)
{
	int err;

	assert_null(fm_backing_of("files:/tmp/fm_parts.none/index",
				  "/far", &err));
	assert_int_equal(err, -ENOENT);
}

/* ---- a source that does not do what it says ------------------------------ */

static long gives;

static long give(struct fm_backing *s, void *buf, uint64_t off, uint64_t len)
{
	return gives;
}

static void what_is_short_or_long_is_an_error(void **state)
{
	const struct fm_backing_io calls = { .read = give };
	const struct fm_backing_kind kind = { .io = &calls };
	struct fm_backing s = { .kind = &kind, .size = 100 };
	char buf[128];

	gives = 0; /* within the size */
	assert_int_equal(fm_backing_read(&s, buf, 0, 50), -EIO);
	gives = 51;
	assert_int_equal(fm_backing_read(&s, buf, 0, 50), -EIO);
	gives = 50; /* asked for less, at the end */
	assert_int_equal(fm_backing_read(&s, buf, 60, 50), -EIO);
	gives = -ESTALE;
	assert_int_equal(fm_backing_read(&s, buf, 60, 50), -ESTALE);
	gives = 7;
	assert_int_equal(fm_backing_read(&s, buf, 60, 50), 7);
	assert_int_equal(fm_backing_read(&s, buf, 100, 50), 0);
}

/* The writing end of a pipe is kept, and closed here. Returns the other. */
static int kept_pipe(void)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	fm_rings_keep(p[1]);
	close(p[1]);
	return p[0];
}

static bool hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static void rings_keep_several(void **state)
{
	int first, second;

	if (fm_rings_start(8, true)) /* no io_uring here */
		skip();
	first = kept_pipe();
	fm_rings_keep(-1);
	second = kept_pipe();
	assert_false(hung_up(first));
	assert_false(hung_up(second));
	for (unsigned i = 0; i < FM_RINGS_KEPT; i++)
		close(kept_pipe()); /* beyond the room: kept by nobody */
	fm_rings_settle();
}

FM_UNIT(store)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_chooses_page_cache),
		cmocka_unit_test(page_cache_reads_by_pread),
		cmocka_unit_test(null_takes_holes_only),
		cmocka_unit_test(null_reads_zeros_and_forgets),
		cmocka_unit_test(files_are_one),
		cmocka_unit_test(files_that_are_not),
		cmocka_unit_test(what_is_short_or_long_is_an_error),
		cmocka_unit_test(rings_keep_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
