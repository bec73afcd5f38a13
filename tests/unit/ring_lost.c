/* SPDX-License-Identifier: MIT */
/* fd_recovery.h - a ring whose number the program closes between two batches:
 * all that is asked for comes, by the ring that takes its place. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "file/file.h"
#include "io/io.h"
#include "io/ring_priv.h"

extern const struct fm_store fm_store_uring;

struct disk {
	struct fm_file_io io;
	struct fm_file f;
	int fd;
	char buf[16];
};

static void make_disk(struct disk *d, uint32_t id, const char *text)
{
	char name[] = "/tmp/fm_ring.XXXXXX";

	memset(d, 0, sizeof(*d));
	d->fd = mkstemp(name);
	assert_true(d->fd >= 0);
	unlink(name);
	assert_int_equal(write(d->fd, text, strlen(text)), strlen(text));
	d->f.io = &d->io;
	d->f.id = id;
	atomic_store(&d->f.gen, 1);
	atomic_store(&d->io.store, &fm_store_uring);
	assert_int_equal(fm_store_uring.open(&d->f, d->fd, O_RDONLY, true), 0);
}

static struct fm_io read_of(struct disk *d)
{
	return (struct fm_io){ .file = &d->f, .buf = d->buf, .buffered = true,
			       .len = sizeof(d->buf), .op = FM_READ };
}

static void reap_all(struct fm_ring *r)
{
	const uint64_t until = fm_now_ms() + 5000;

	while (fm_ring_inflight(r) && fm_now_ms() < until) {
		fm_sys_sleep_us(1000);
		fm_ring_look(r);
	}
}

static struct disk known, fresh;

/* The ring has the first file, and is found to be gone when it is handed the
 * second. */
static void closed_in_the_middle(void **state)
{
	struct fm_io a = read_of(&known), b = read_of(&fresh);
	struct fm_io *first[] = { &a }, *both[] = { &a, &b };
	struct fm_ring *r;

	if (fm_rings_start(2, true))
		skip();
	make_disk(&known, 1, "known");
	make_disk(&fresh, 2, "fresh");
	r = fm_ring_own();
	assert_non_null(r);
	fm_ring_submit(r, first, 1);
	reap_all(r);
	assert_int_equal(a.res, 5);
	close(r->ring.ring_fd);
	memset(known.buf, 0, sizeof(known.buf));
	fm_ring_submit(r, both, 2);
	reap_all(r);
	assert_true(a.done && b.done);
	assert_string_equal(known.buf, "known");
	assert_string_equal(fresh.buf, "fresh");
	assert_int_equal(fm_ring_inflight(r), 0);
}

FM_UNIT(ring_lost)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
