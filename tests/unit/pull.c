/* SPDX-License-Identifier: MIT */
/* What is asked for comes into memory, by views that are gone afterwards, and
 * the program's own mapping stays as it is. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "advise/advise.h"
#include "advise/pull.h"
#include "base/thread.h"
#include "base/types.h"
#include "filled.h"

#define LEN (12 * FM_HUGE)
#define PAGES (LEN / FM_PAGE)

static char *p;
static int fd;

static int begin(void **state)
{
	char name[] = "pull.XXXXXX";

	fd = filled_file(name, PAGES);
	if (fd < 0)
		return -1;
	p = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	return p == MAP_FAILED;
}

static int end(void **state)
{
	fm_pull_end();
	munmap(p, LEN);
	close(fd);
	return 0;
}

static unsigned resident(void)
{
	return filled_resident(p, PAGES);
}

/* As the kernel knows it, cold. */
static struct fm_krange range(bool shared, uint8_t prot)
{
	const struct fm_krange r = { .start = (uintptr_t)p,
				     .end = (uintptr_t)p + LEN, .dev = 1,
				     .ino = 1, .prot = prot,
				     .shared = shared };
	struct fm_krange got;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	fm_krange_forget(r.start, r.end);
	fm_krange_add(&r);
	assert_true(fm_krange_first(r.start, r.end, &got));
	return got;
}

/* How many mappings of nobody's name, or of this file's, there are. */
static unsigned views(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "pull.") != NULL;
	fclose(f);
	return n;
}

static void until_there(unsigned pages)
{
	for (unsigned ms = 0; ms < 5000 && resident() < pages; ms++)
		usleep(1000);
	assert_true(resident() >= pages);
}

static void what_is_asked_for_comes(void **state)
{
	struct fm_krange r = range(true, PROT_READ);

	if (resident() || !fm_pull_may(&r, LEN))
		skip(); /* of a file system that is memory */
	assert_true(fm_pull(&r, r.start + FM_HUGE, r.start + 8 * FM_HUGE));
	until_there(8 * FM_HUGE_PAGES);
	for (unsigned ms = 0; ms < 5000 && views() > 1; ms++)
		usleep(1000);
	assert_int_equal(views(), 1);
}

static void what_has_gone_is_left_alone(void **state)
{
	struct fm_krange r = range(true, PROT_READ);

	if (resident())
		skip();
	fm_krange_forget(r.start, r.end);
	assert_true(fm_pull(&r, r.start, r.end));
	usleep(20000);
	assert_int_equal(resident(), 0);
}

/* Replaced behind our back: of what lies there no view can be had. It stays as
 * it is, and that is no refusal of the kernel's. */
static void what_has_been_replaced_is_left_alone(void **state)
{
	struct fm_krange r = range(true, PROT_READ);

	if (resident() || !fm_pull_may(&r, LEN))
		skip();
	assert_ptr_equal(mmap(p, LEN, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p);
	assert_true(fm_pull(&r, r.start, r.end));
	usleep(20000);
	assert_int_equal(resident(), 0);
	assert_true(fm_pull_may(&r, LEN));
	assert_ptr_equal(mmap(p, LEN, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0),
			 p);
}

static void what_may_be_stored_to_is_not_read_so(void **state)
{
	struct fm_krange r = range(true, PROT_READ | PROT_WRITE);

	assert_false(fm_pull_may(&r, LEN));
	r = range(false, PROT_READ);
	assert_false(fm_pull_may(&r, LEN));
	r = range(true, PROT_READ);
	assert_false(fm_pull_may(&r, FM_HUGE));
}

static _Atomic bool heard;
static _Atomic unsigned fed;

/* There is always something to do. */
static void *feeds(void *arg)
{
	const struct fm_krange *r = arg;

	while (!atomic_load(&heard)) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		fm_pull(r, r->start, r->end);
		atomic_fetch_add(&fed, 1);
	}
	return NULL;
}

/* Bytes that come before all have heard it. */
static uint64_t read_before_heard(uint32_t order)
{
	const unsigned before = atomic_load(&fed);

	while (atomic_load(&fed) < before + 4)
		;
	fm_pull_take();
	return fm_thread_order(order) ? UINT64_MAX : fm_pull_take();
}

/* As at setuid(), which waits for them: some pieces of each, not all that there
 * is. */
static void an_order_is_heard_in_the_midst_of_it(void **state)
{
	const uint64_t few = 4 * 8 * FM_PULLED;
	struct fm_krange r = range(true, PROT_READ);
	uint64_t came = 0;
	pthread_t t;

	if (resident() || !fm_pull_may(&r, LEN))
		skip();
	assert_int_equal(pthread_create(&t, NULL, feeds, &r), 0);
	for (uint32_t n = 1; n <= 8 && came <= few; n++)
		came = read_before_heard(n);
	atomic_store(&heard, true);
	pthread_join(t, NULL);
	assert_true(came <= few);
}

FM_UNIT(pull)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_comes),
		cmocka_unit_test(what_has_gone_is_left_alone),
		cmocka_unit_test(what_has_been_replaced_is_left_alone),
		cmocka_unit_test(what_may_be_stored_to_is_not_read_so),
		cmocka_unit_test(an_order_is_heard_in_the_midst_of_it),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
