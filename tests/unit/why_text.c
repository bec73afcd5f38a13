/* SPDX-License-Identifier: MIT */
/* What `fastmap why` and `fastmap top` say, of statistics that are made up. */
#include "unit.h"

#include <jansson.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_text.h"
#include "why_text.h"

#define FILE_OF(choice, changes)                                          \
	"{'pid': 7, 'program': '/bin/p', 'uptime': 9, 'files': [{"       \
	"'path': '/d/f', 'size': 4096, 'device': 1, 'inode': 2, "        \
	"'open': true, 'server': 'kernel', 'served': {'by': 'kernel', "  \
	"'by_ms': 12000, 'changes': [" changes "]}, 'choice': {" choice  \
	"}}]}"
#define FITS                                                               \
	"'why': 'it fits', 'kind': 'speed', 'vetoes': [], "              \
	"'until': 'it does not', 'remedy': 'raise the limit', "          \
	"'may_return': true, 'not_before_ms': 4000, "                    \
	"'engine_cost_ns': 1234, 'kernel_cost_ns': 800"
#define CHANGE                                                             \
	"{'time': 1.5, 'from': 'engine', 'to': 'kernel', 'why': 'it fits', " \
	"'engine_cost_ns': 45678, 'kernel_cost_ns': 0}"

static json_t *parsed(const char *text)
{
	char *quoted = strdup(text);
	json_t *doc;

	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	doc = json_loads(quoted, 0, NULL);
	free(quoted);
	assert_non_null(doc);
	return doc;
}

static char *said(const char *document)
{
	json_t *doc = parsed(document);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	why_text(doc, json_array_get(json_object_get(doc, "files"), 0), out);
	fclose(out);
	json_decref(doc);
	return text;
}

static void says(const char *document, const char *const *lines)
{
	char *text = said(document);

	for (; *lines; lines++)
		if (!strstr(text, *lines))
			fail_msg("'%s' is not in:\n%s", *lines, text);
	free(text);
}

static void what_may_come_back(void **state)
{
	static const char *const lines[] = {
		"/d/f: 4.0K, of process 7, p\n",
		"served by: the kernel, without our advice (since 12s)\n",
		"why: it fits (a matter of speed)\n",
		"what forbids the engine: nothing, it could serve it\n",
		"what would change that: when it does not\n",
		"remedy: raise the limit\n",
		"without a restart: yes, not before 4.0 s from now",
		"cost of an access: engine 1.2us, kernel 800ns\n",
		"engine  kernel     46us       - it fits\n", NULL };

	says(FILE_OF(FITS, CHANGE), lines);
}

static void what_stays(void **state)
{
	static const char *const lines[] = {
		"why: mlock (else the bytes might be wrong)\n",
		"what forbids the engine: mlock; another\n",
		"what would change that: nothing that can be set",
		"without a restart: no, not in this process",
		"cost of an access: not compared, for the program has not",
		"last decisions: none", NULL };

	says(FILE_OF("'why': 'mlock', 'kind': 'correctness', 'vetoes': "
		     "['mlock', 'another']", ""), lines);
}

#define SETTING                                                            \
	"'why': 'warm', 'kind': 'speed', 'vetoes': [], 'may_return': "   \
	"true, 'not_before_ms': 0, 'engine_cost_ns': 300, "               \
	"'until': 'less is there, or warm is engine for its path'"

/* Where an option stands in what would change it; neither "known" nor soon. */
static void what_can_be_set(void **state)
{
	static const char *const lines[] = {
		"where to set it: FASTMAP_WARM=engine or fastmap run --warm engine",
		"'warm = engine' in a policy file",
		"without a restart: yes, some seconds after that has changed",
		"cost of an access: engine 300ns, kernel 0ns\n", NULL };
	char *text = said(FILE_OF(SETTING, ""));

	assert_null(strstr(strstr(text, "where to") + 1, "where to"));
	free(text);
	says(FILE_OF(SETTING, ""), lines);
}

static unsigned drawn(const char *document, unsigned columns,
		      char line[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1])
{
	struct top_process *p;
	struct top_row row;
	json_t *doc = parsed(document);
	unsigned n;

	p = top_process_new(doc);
	json_decref(doc);
	assert_non_null(p);
	row = (struct top_row){ p, &p->file[0] };
	n = top_why_lines(&row, columns, line);
	top_process_free(p);
	return n;
}

static void on_a_screen_lines_are_broken(void **state)
{
	static char line[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1];
	static const unsigned columns[] = { 1, 8, 40, 80, 1000 };
	unsigned n;

	for (unsigned k = 0; k < 5; k++) {
		n = drawn(FILE_OF(FITS, CHANGE), columns[k], line);
		assert_true(n > 10 && n <= TOP_TEXT_LINES);
		for (unsigned i = 0; i < n; i++)
			assert_true(strlen(line[i]) <= columns[k]);
	}
}

static void an_older_library_does_not_tell(void **state)
{
	static char line[TOP_TEXT_LINES][TOP_TEXT_COLUMNS + 1];

	assert_int_equal(drawn("{'pid': 7, 'program': 'p', 'files': "
			       "[{'path': 'f', 'open': true}]}", 80, line), 1);
	assert_non_null(strstr(line[0], "older library"));
	assert_int_equal(top_why_lines(NULL, 80, line), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_come_back),
		cmocka_unit_test(what_stays),
		cmocka_unit_test(what_can_be_set),
		cmocka_unit_test(on_a_screen_lines_are_broken),
		cmocka_unit_test(an_older_library_does_not_tell),
	};

	setlocale(LC_ALL, "C");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
