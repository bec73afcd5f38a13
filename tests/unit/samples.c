/* SPDX-License-Identifier: MIT */
/* What another thread touches comes out of the samples of its page faults. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "advise/advise.h"
#include "advise/advised.h"
#include "advise/source.h"
#include "base/types.h"

#define LEN (4 * FM_HUGE)
#define MOST 64

static const struct fm_source *const s = &fm_source_samples;
static char *base;
static int refused; /* why, -errno, or 0 */

static struct fm_run told[MOST];
static unsigned ntold;

static struct fm_advised_all areas;

static void note(struct fm_advised_all *all, uintptr_t start, uintptr_t end)
{
	assert_true(ntold < MOST);
	told[ntold++] = (struct fm_run){ (start - (uintptr_t)base) / FM_PAGE,
					 (end - (uintptr_t)base) / FM_PAGE };
}

static unsigned collected(void)
{
	ntold = 0;
	return s->collect(&areas, note);
}

/* ---- the thread that touches -------------------------------------------- */

static sem_t go, done;
static const int *list;
static int nlist;

static void touch_all(const int *page, int n)
{
	for (int i = 0; i < n; i++)
		*(volatile char *)(base + (size_t)page[i] * FM_PAGE);
}

static void *toucher(void *arg)
{
	for (;;) {
		sem_wait(&go);
		if (!nlist)
			return NULL;
		touch_all(list, nlist);
		sem_post(&done);
	}
}

static void touch(const int *page, int n)
{
	list = page;
	nlist = n;
	sem_post(&go);
	sem_wait(&done);
}

/* ---- before each -------------------------------------------------------- */

static pthread_t thread;

static int begin(void **state)
{
	struct fm_krange r = { .dev = 1, .ino = 1, .prot = PROT_READ };
	char *p = mmap(NULL, LEN + FM_HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	base = (char *)(((uintptr_t)p + FM_HUGE - 1) & ~(FM_HUGE - 1));
	madvise(base, LEN, MADV_NOHUGEPAGE);
	r.start = (uintptr_t)base;
	r.end = r.start + LEN;
	fm_krange_add(&r);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	return !fm_advised_update(&areas) ||
	       pthread_create(&thread, NULL, toucher, NULL);
}

static int again(void **state)
{
	madvise(base, LEN, MADV_DONTNEED);
	refused = s->start();
	if (!refused)
		collected();
	return 0;
}

static int after(void **state)
{
	if (!refused)
		s->end();
	return 0;
}

static int finish(void **state)
{
	nlist = 0;
	sem_post(&go);
	return pthread_join(thread, NULL);
}

/* ---- tests -------------------------------------------------------------- */

/* Whoever is not allowed, or has a kernel without, skips; anything else is
 * wrong. */
static void needs_perf(void)
{
	switch (refused) {
	case 0:
		return;
	case -EACCES: case -EPERM: case -ENOSYS: case -ENOENT: case -EOPNOTSUPP:
		skip();
	}
	fail_msg("perf events: %d", refused);
}

static void here_and_there_is_one_by_one(void **state)
{
	static const int pages[] = { 103, 3, 203, 803 };

	needs_perf();
	touch(pages, 4);
	assert_int_equal(collected(), 1000);
	assert_int_equal(ntold, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(told[i].start, pages[i]);
		assert_int_equal(told[i].end, pages[i] + 1);
	}
}

/* As the kernel maps in 16 around each fault, or 512. */
static void a_stream_is_one_span(void **state)
{
	static const int up[] = { 16, 32, 48, 64, 512, 1024 };
	static const int down[] = { 2047, 1535, 1519, 1503, 1487, 1471 };

	needs_perf();
	touch(up, 6);
	assert_int_equal(collected(), 1000);
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].start, 16);
	assert_int_equal(told[0].end, 1025);
	touch(down, 6);
	assert_int_equal(collected(), 1000);
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].start, 1471);
	assert_int_equal(told[0].end, 2048);
}

/* What does not fit into a ring is counted, and not told. */
static void a_look_is_bounded(void **state)
{
	static int pages[2000];
	unsigned part;

	needs_perf();
	for (int i = 0; i < 2000; i++)
		pages[i] = i;
	touch(pages, 2000);
	part = collected();
	assert_true(part > 0);
	assert_int_equal(ntold, 1);
	assert_true(told[0].end < 300);
	touch((int[]){ 2003 }, 1); /* tells of those that were lost */
	assert_true(collected() < 10);
	assert_int_equal(ntold, 1);
}

static void at_rest_nothing_is_seen(void **state)
{
	needs_perf();
	s->rest();
	touch((int[]){ 3 }, 1);
	assert_int_equal(collected(), 0); /* goes on */
	assert_int_equal(ntold, 0);
	touch((int[]){ 103 }, 1);
	assert_int_equal(collected(), 1000);
	assert_int_equal(told[0].start, 103);
}

static void *other(void *arg)
{
	sem_t *may_end = arg;

	touch_all((int[]){ 3 }, 1);
	sem_post(&done);
	sem_wait(&go);
	touch_all((int[]){ 103 }, 1);
	sem_post(&done);
	sem_wait(may_end);
	return NULL;
}

/* Who ends meanwhile makes room for who begins. */
static void a_new_thread_is_followed(void **state)
{
	pthread_t t;
	sem_t may_end;

	needs_perf();
	finish(state);
	sem_init(&may_end, 0, 0);
	assert_int_equal(pthread_create(&t, NULL, other, &may_end), 0);
	sem_wait(&done);
	assert_int_equal(collected(), 0); /* it is new */
	collected();
	sem_post(&go);
	sem_wait(&done);
	assert_int_equal(collected(), 1000);
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].start, 103);
	sem_post(&may_end);
	pthread_join(t, NULL);
	assert_int_equal(pthread_create(&thread, NULL, toucher, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, again, after)

FM_UNIT(samples)
{
	const struct CMUnitTest tests[] = {
		TEST(here_and_there_is_one_by_one),
		TEST(a_stream_is_one_span),
		TEST(a_look_is_bounded),
		TEST(at_rest_nothing_is_seen),
		TEST(a_new_thread_is_followed),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
