/* SPDX-License-Identifier: MIT */
/* witness.h: windows on a file that could not be had for want of something that
 * passes are asked for again; how many writes can have one at once. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file_part.h"
#include "base/sys.h"
#include "file/file.h"
#include "file/witness.h"
#include "io/io.h"
#include "policy.h"

#define SIZE (3 * FM_PAGE)

static struct fm_policy policy = { .io = FM_IO_BUFFERED };
static struct fm_file *f;

static int setup(void **state)
{
	char name[] = "/var/tmp/fm_witness.XXXXXX";
	struct stat st;
	int fd = mkstemp(name);

	if (fd < 0)
		return fd;
	unlink(name);
	if (ftruncate(fd, SIZE) || fstat(fd, &st))
		return -1;
	f = fm_file_alloc();
	f->policy = &policy;
	f->io->buffered = f->io->direct = f->io->was[0] = f->io->was[1] = -1;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->io->path = fd;
	atomic_init(&f->io->store, fm_store_choose(f, fd, &st));
	return fm_store_of(f)->open(f, fd, O_RDWR, true);
}

static void descriptors(rlim_t n)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

static int call(void)
{
	static char page[FM_PAGE];
	struct fm_io io = { .file = f, .buf = page, .len = FM_PAGE,
			    .op = FM_WRITE, .buffered = true };
	int err = fm_witness_call(&io);

	if (!err)
		assert_true(fm_witness_heard(&io));
	return err;
}

static void want_passes(void **state)
{
	descriptors(1); /* and number 0 is taken */
	assert_int_equal(call(), -ENOSYS);
	descriptors(256);
	for (int ms = 0; call() && ms < 5000; ms++)
		usleep(1000);
	assert_int_equal(call(), 0);
}

/* Who asks when all that there are are taken is told so, and at no cost: the
 * file is not looked at. */
static void all_are_taken(void **state)
{
	static char page[FM_PAGE];
	static struct fm_io io[64];
	const struct fm_io direct = { .file = f };
	unsigned n = 0;

	for (;; n++) {
		assert_true(n < sizeof(io) / sizeof(*io));
		io[n] = (struct fm_io){ .file = f, .buf = page, .len = FM_PAGE,
					.op = FM_WRITE, .buffered = true };
		if (fm_witness_busy(&io[n]))
			break;
		assert_int_equal(fm_witness_call(&io[n]), 0);
	}
	assert_true(n > 8);
	assert_true(fm_witness_busy(&direct));
	assert_int_equal(fm_witness_call(&io[n]), -EAGAIN);
	assert_true(fm_witness_heard(&io[0]));
	assert_false(fm_witness_busy(&io[n]));
	while (--n)
		assert_true(fm_witness_heard(&io[n]));
	assert_false(fm_witness_busy(&direct));
}

FM_UNIT(witness)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(want_passes),
		cmocka_unit_test(all_are_taken),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
