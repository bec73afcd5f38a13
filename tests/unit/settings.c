/* SPDX-License-Identifier: MIT */
/* Settings change by several threads of the program (fastmap_set), by a policy
 * file that is read again when it has changed, and by the command that reads it
 * now, while others read them: each set of them is seen whole, and what was set
 * stays. Under the sanitizer of threads, too. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/control.h"
#include "engine.h"
#include "observe/control_priv.h"
#include "observe/observe.h"
#include "policy.h"

#define ROUNDS 200
#define SETTERS 3
#define READERS 2

static char path[64];
static atomic_bool stop;
static atomic_int bad;

/* Marks whose sum is 100, in one step. */
static void save(unsigned n)
{
	char new[80];
	FILE *f;

	snprintf(new, sizeof(new), "%s.new", path);
	f = fopen(new, "we");
	assert_non_null(f);
	fprintf(f, "wb-low = %u\nwb-high = %u\n[path /a/*]\npriority = %s\n",
		10 + n % 30, 90 - n % 30, n % 2 ? "low" : "high");
	fclose(f);
	assert_int_equal(rename(new, path), 0);
}

static void *setter(void *arg)
{
	static const char *const to[SETTERS][3] = {
		{ "cache", "12M", "20M" },
		{ "map-ahead", "256K", "1M" },
		{ "wb-interval", "60", "90" },
	};
	const char *const *k = to[(uintptr_t)arg];

	for (int n = 0; n < ROUNDS; n++)
		if (fm_api_set(k[0], k[1 + n % 2]) ||
		    fm_api_set(k[0], "much") != -EINVAL)
			atomic_fetch_add(&bad, 1);
	return NULL;
}

static void *settings_reader(void *arg)
{
	while (!stop) {
		const struct fm_policy *p = fm_policy_for("/a/file");
		const uint64_t cache = fm_settings()->cache.bytes;

		if (p->wb_low + p->wb_high != 100 ||
		    (cache && cache != 12 << 20 && cache != 20 << 20))
			atomic_fetch_add(&bad, 1);
	}
	return NULL;
}

/* The answer's memory stays: the sanitizer does not see that it is given back,
 * and takes what comes to its place for the same. */
static void reload(void)
{
	char line[] = "reload";
	struct fm_request r = { .fd = -1 };

	fm_control_parse(line, &r)->run(&r);
	if (!r.answer.text || strncmp(r.answer.text, "ok ", 3))
		atomic_fetch_add(&bad, 1);
}

/* As the control thread: what it sees has changed, and what it is told. */
static void *saver(void *arg)
{
	for (unsigned n = 0; n < ROUNDS; n++) {
		save(n);
		if (n % 2)
			reload();
		else
			fm_control_policy_look();
	}
	return NULL;
}

static void test_at_once(void **state)
{
	pthread_t t[SETTERS + 1], reads[READERS];
	char text[64];

	for (uintptr_t k = 0; k < READERS; k++)
		pthread_create(&reads[k], NULL, settings_reader, NULL);
	for (uintptr_t k = 0; k < SETTERS; k++)
		pthread_create(&t[k], NULL, setter, (void *)k);
	pthread_create(&t[SETTERS], NULL, saver, NULL);
	for (int k = 0; k <= SETTERS; k++)
		pthread_join(t[k], NULL);
	stop = true;
	for (int k = 0; k < READERS; k++)
		pthread_join(reads[k], NULL);
	assert_int_equal(bad, 0);
	assert_true(fm_policy_value("wb-interval", text, sizeof(text)));
	assert_string_equal(text, "90");
}

FM_UNIT(settings)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
	};
	char policy[80];
	char *env[] = { policy, NULL };
	int fd, r;

	strcpy(path, "/tmp/fm_settings.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	snprintf(policy, sizeof(policy), "FASTMAP_POLICY=%s", path);
	save(0);
	fm_policy_load("unit", env);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return r;
}
