/* SPDX-License-Identifier: MIT */
/*
 * cmocka.h - as much of it as our tests use, in a header: for processors for
 * which the library is not here (tests/checks/processors).
 */
#ifndef FM_BARE_CMOCKA_H
#define FM_BARE_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **);
	int (*setup)(void **), (*teardown)(void **);
};

static jmp_buf bare_end;

static inline void bare_check(int ok, const char *what, const char *file,
			      int line)
{
	if (ok)
		return;
	printf("%s:%d: %s\n", file, line, what);
	longjmp(bare_end, 1);
}

static inline void skip(void)
{
	longjmp(bare_end, 2);
}

#define BARE(cond, what) bare_check(!!(cond), what, __FILE__, __LINE__)
#define fail_msg(...) (printf(__VA_ARGS__), BARE(0, "failed"))
#define print_message printf
#define assert_true(a) BARE(a, #a)
#define assert_false(a) BARE(!(a), "not " #a)
#define assert_null(a) BARE(!(a), #a " is null")
#define assert_non_null(a) BARE(a, #a)
#define assert_int_equal(a, b) BARE((long)(a) == (long)(b), #a " == " #b)
#define assert_int_not_equal(a, b) BARE((long)(a) != (long)(b), #a " != " #b)
#define assert_ptr_equal(a, b) BARE((a) == (b), #a " == " #b)
#define assert_ptr_not_equal(a, b) BARE((a) != (b), #a " != " #b)
#define assert_string_equal(a, b) BARE(!strcmp(a, b), #a " is " #b)
#define assert_memory_equal(a, b, n) BARE(!memcmp(a, b, n), #a " is " #b)
#define assert_in_range(a, low, high)                                      \
	BARE((unsigned long)(a) >= (unsigned long)(low) &&                 \
	     (unsigned long)(a) <= (unsigned long)(high), #a)
#define assert_float_equal(a, b, by)                                       \
	BARE((a) - (b) <= (by) && (b) - (a) <= (by), #a " is " #b)

#define cmocka_unit_test(f) { #f, f, NULL, NULL }
#define cmocka_unit_test_setup(f, s) { #f, f, s, NULL }
#define cmocka_unit_test_setup_teardown(f, s, t) { #f, f, s, t }

static inline int bare_run(const struct CMUnitTest *t, void **state)
{
	volatile int r = 0, ended;

	if (t->setup && t->setup(state))
		r = 1;
	ended = r ? r : setjmp(bare_end);
	if (!ended)
		t->test(state);
	if (ended == 1)
		printf("FAILED: %s\n", t->name);
	else if (ended)
		printf("SKIP: %s\n", t->name);
	if (t->teardown)
		t->teardown(state);
	return ended == 1;
}

static inline int bare_all(const struct CMUnitTest *tests, size_t n,
			   int (*setup)(void **), int (*teardown)(void **))
{
	void *state = NULL;
	int failed = 0;

	if (setup && setup(&state)) {
		printf("SKIP: the group's setup\n");
		return 77;
	}
	for (size_t i = 0; i < n; i++)
		failed += bare_run(&tests[i], &state);
	if (teardown)
		teardown(&state);
	printf("%d of %d failed\n", failed, (int)n);
	return failed != 0;
}

#define cmocka_run_group_tests(tests, setup, teardown)                     \
	bare_all(tests, sizeof(tests) / sizeof(*(tests)), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)          \
	cmocka_run_group_tests(tests, setup, teardown)

#endif
