/* SPDX-License-Identifier: MIT */
/* top.c - what fastmap top and map show, without a terminal. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cmd/map_bar.h"
#include "../../src/cmd/shown.h"
#include "../../src/cmd/top_rows.h"
#include "unit.h"

static void shows(const char *text, unsigned columns, bool head,
		  const wchar_t *want, unsigned used)
{
	wchar_t got[64];

	assert_int_equal(shown_text(text, columns, head, got), used);
	if (wcscmp(got, want))
		fail_msg("%s: %ls, not %ls", text, got, want);
}

static void text_is_cut(void **state)
{
	shows("/data/app.db", 20, false, L"/data/app.db", 12);
	shows("/data/app.db", 12, false, L"/data/app.db", 12);
	shows("/data/app.db", 8, false, L"..app.db", 8);
	shows("/data/app.db", 8, true, L"/data/..", 8);
	shows("/data/app.db", 1, false, L".", 1);
	shows("abc", 0, false, L"", 0);
	shows("", 5, true, L"", 0);
}

/* Who names a file must not move the cursor of who looks at it. */
static void text_is_harmless(void **state)
{
	shows("a\033[2Jb\nc\td\x7f", 20, true, L"a?[2Jb?c?d?", 11);
	shows("\xff\xc3", 20, true, L"??", 2);
	shows("\xc3\xa9", 20, true, MB_CUR_MAX > 1 ? L"\u00e9" : L"?", 1);
	shows("\xe2\x80\xaeX", 20, true, L"?X", 2); /* right to left */
}

static void wide_characters(void **state)
{
	if (MB_CUR_MAX == 1)
		return;
	assert_int_equal(shown_columns("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	shows("\xe6\xbc\xa2\xe5\xad\x97z", 4, true, L"\u6f22..", 4);
	shows("\xe6\xbc\xa2\xe5\xad\x97z", 4, false, L"..z", 3);
}

static void bytes(uint64_t v, const char *want)
{
	char b[SHOWN_NUMBER];

	assert_string_equal(shown_bytes(v, b), want);
}

static void figures(void **state)
{
	char b[SHOWN_NUMBER];

	bytes(0, "0");
	bytes(1023, "1023");
	bytes(1024, "1.0K");
	bytes(10 << 10, "10K");
	bytes((1 << 20) - 1, "1.0M");
	bytes(1ull << 43, "8.0T");
	bytes(UINT64_MAX, "16E");
	assert_string_equal(shown_count(999.4, b), "999");
	assert_string_equal(shown_count(999.6, b), "1.0k");
	assert_string_equal(shown_count(25e6, b), "25M");
	assert_string_equal(shown_time(98.2, b), "98us");
	assert_string_equal(shown_time(999.6, b), "1.0ms");
	assert_string_equal(shown_time(15049, b), "15ms");
	assert_string_equal(shown_time(1.25e6, b), "1.2s");
}

/* ---- statistics -------------------------------------------------------- */

#define FILE_(path, inode, faults, wp, ahead, read, server, open)            \
	"{\"path\":\"" path "\",\"device\":1,\"inode\":" inode               \
	",\"size\":8192,\"open\":" open ",\"server\":" server                 \
	",\"advised\":true"                                                  \
	",\"demote_why\":\"asked for\",\"resident_bytes\":4096,"              \
	"\"dirty_bytes\":0,\"faults_read\":" faults ",\"faults_write\":0,"    \
	"\"faults_wp\":" wp ",\"hits_ahead\":" ahead ",\"hits_standby\":0,"  \
	"\"hits_alias\":0,\"load_bytes\":" read ",\"wb_bytes\":0}"
#define DOC(uptime, files)                                                   \
	"{\"pid\":7,\"program\":\"/bin/prog\",\"uptime\":" uptime             \
	",\"cache\":{\"limit_bytes\":9,\"resident_bytes\":5,"                 \
	"\"dirty_bytes\":1,\"lazy_bytes\":2},\"latency\":{\"p50_us\":1.5,"   \
	"\"p99_us\":20},\"files\":[" files "],\"left_to_kernel\":["           \
	"{\"path\":\"/l\",\"device\":1,\"inode\":9,\"size\":5,"               \
	"\"why\":[{\"reason\":\"short\",\"mmaps\":1}]},"                      \
	"{\"path\":\"/gone\",\"device\":1,\"inode\":8,\"mapped\":false,"       \
	"\"why\":[]},"                                                       \
	"{\"path\":\"/a\",\"device\":1,\"inode\":1,\"size\":8192,"            \
	"\"why\":[]}],\"advice\":{\"source\":\"estimates\"}}"

static struct top_process *parse(const char *text)
{
	json_t *doc = json_loads(text, 0, NULL);
	struct top_process *p = top_process_new(doc);

	json_decref(doc);
	return p;
}

static void statistics_are_taken(void **state)
{
	struct top_process *p = parse(DOC("3.5",
		FILE_("/a", "1", "10", "2", "30", "4096", "\"engine\"", "true")
		"," FILE_("/b", "2", "1", "0", "0", "0", "\"kernel\"", "true")
		"," FILE_("/c", "3", "1", "0", "0", "0", "null", "false")));

	assert_non_null(p);
	assert_int_equal(p->pid, 7);
	assert_string_equal(p->program, "prog");
	assert_int_equal(p->files, 3); /* neither closed nor twice */
	assert_true(p->file[0].engine);
	assert_string_equal(p->file[0].server, "engine");
	assert_string_equal(p->file[1].server, "advised");
	assert_string_equal(p->file[2].server, "kernel");
	assert_string_equal(p->file[0].why, "");
	assert_int_equal(p->file[0].total[TOP_FAULTS], 42);
	assert_int_equal(p->file[0].total[TOP_ABSENT], 40);
	assert_string_equal(p->file[1].why, "asked for");
	assert_string_equal(p->file[2].path, "/l");
	assert_string_equal(p->file[2].why, "short");
	top_process_free(p);
}

static void others_are_no_statistics(void **state)
{
	assert_null(parse("[]"));
	assert_null(parse("{}"));
	assert_null(parse("{\"pid\":0}"));
	assert_null(top_process_new(NULL));
	top_process_free(NULL);
	/* What is of another type counts as nothing. */
	struct top_process *p = parse("{\"pid\":3,\"program\":4,"
				      "\"files\":[3,{\"open\":true}],"
				      "\"left_to_kernel\":7,\"cache\":[]}");
	assert_non_null(p);
	assert_int_equal(p->files, 1);
	top_rates(p, NULL);
	top_process_free(p);
}

static void rates_of_an_interval(void **state)
{
	struct top_process *a = parse(DOC("10", FILE_("/a", "1", "10", "0",
		"10", "1000", "\"engine\"", "true")));
	struct top_process *b = parse(DOC("12", FILE_("/a", "1", "20", "4",
		"40", "5000", "\"engine\"", "true")));

	top_rates(a, NULL);
	assert_float_equal(a->file[0].rate[TOP_FAULTS], 2, 1e-9);
	assert_float_equal(a->file[0].hit, 50, 1e-9);
	top_rates(b, a);
	assert_float_equal(b->file[0].rate[TOP_FAULTS], 22, 1e-9);
	assert_float_equal(b->file[0].hit, 75, 1e-9);
	assert_float_equal(b->rate[TOP_READ], 2000, 1e-9);
	/* The left file had no fault: nothing to tell by. */
	assert_true(b->file[1].hit < 0);
	top_process_free(a);
	top_process_free(b);
}

/* The program has executed itself, or the file was mapped again. */
static void counts_begin_again(void **state)
{
	struct top_process *a = parse(DOC("10", FILE_("/a", "1", "100", "0",
		"0", "1000", "\"engine\"", "true")));
	struct top_process *b = parse(DOC("14", FILE_("/a", "1", "20", "0",
		"0", "400", "\"engine\"", "true")));
	struct top_process *c = parse(DOC("2", FILE_("/a", "1", "30", "0",
		"0", "400", "\"engine\"", "true")));

	top_rates(b, a);
	assert_float_equal(b->file[0].rate[TOP_FAULTS], 5, 1e-9);
	top_rates(c, b);
	assert_float_equal(c->file[0].rate[TOP_FAULTS], 15, 1e-9);
	top_rates(b, b); /* no time has passed */
	assert_float_equal(b->file[0].rate[TOP_FAULTS], 0, 1e-9);
	top_process_free(a);
	top_process_free(b);
	top_process_free(c);
}

/* ---- the table --------------------------------------------------------- */

static struct top_process *two_files(void)
{
	struct top_process *p = parse(DOC("1",
		FILE_("/a", "1", "10", "0", "0", "1", "\"engine\"", "true") ","
		FILE_("/b", "2", "20", "0", "5", "1", "\"kernel\"", "true")));

	top_rates(p, NULL);
	return p;
}

static void order(void **state)
{
	struct top_process *p = two_files();
	unsigned n;
	struct top_row *r = top_rows_new(&p, 1, &n);

	assert_int_equal(n, 3);
	top_rows_sort(r, n, TOP_FAULTS_S, false);
	assert_string_equal(r[0].file->path, "/b");
	assert_string_equal(r[2].file->path, "/l");
	top_rows_sort(r, n, TOP_FAULTS_S, true);
	assert_string_equal(r[0].file->path, "/l");
	top_rows_sort(r, n, TOP_SERVER, false);
	assert_string_equal(r[0].file->path, "/b"); /* advised */
	assert_string_equal(r[1].file->path, "/a");
	top_rows_sort(r, n, TOP_SIZE, false); /* /a and /b are alike */
	assert_string_equal(r[0].file->path, "/a");
	free(r);
	top_process_free(p);
}

static void a_process_without_files(void **state)
{
	struct top_process *p = parse("{\"pid\":7,\"program\":\"x\"}");
	unsigned n, width[TOP_COLUMNS];
	struct top_row *r = top_rows_new(&p, 1, &n);
	wchar_t line[TOP_LINE];

	assert_int_equal(n, 1);
	assert_null(r[0].file);
	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		top_rows_sort(r, n, c, c % 2);
	top_fit(80, true, r, n, width);
	top_line(&r[0], width, line);
	assert_non_null(wcsstr(line, L"(no file"));
	free(r);
	top_process_free(p);
}

static unsigned line_width(const unsigned width[TOP_COLUMNS])
{
	wchar_t line[TOP_LINE];

	top_line(NULL, width, line);
	return (unsigned)wcslen(line);
}

/* No line is wider than the screen, and what matters most is on it. */
static void columns_fit(void **state)
{
	struct top_process *p = two_files();
	unsigned n, width[TOP_COLUMNS];
	struct top_row *r = top_rows_new(&p, 1, &n);
	wchar_t line[TOP_LINE];

	for (unsigned c = 1; c < 600; c++)
		for (int many = 0; many < 2; many++) {
			top_fit(c, many, r, n, width);
			assert_true(line_width(width) <= c);
			assert_true(width[TOP_FILE] > 0);
			assert_int_equal(width[TOP_PID] && !many, 0);
			top_line(&r[0], width, line);
			assert_int_equal(wcslen(line), line_width(width));
		}
	top_fit(80, true, r, n, width);
	assert_true(width[TOP_PID] && width[TOP_RESIDENT] &&
		    width[TOP_FAULTS_S] && width[TOP_SERVER]);
	top_fit(200, true, r, n, width);
	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		assert_true(width[c]);
	assert_int_equal(line_width(width), 200);
	free(r);
	top_process_free(p);
}

static void lines(void **state)
{
	struct top_process *p = two_files();
	unsigned n, width[TOP_COLUMNS];
	struct top_row *r = top_rows_new(&p, 1, &n);
	wchar_t line[TOP_LINE];

	top_fit(72, false, r, n, width);
	top_line(NULL, width, line);
	assert_true(!wcsncmp(line + top_column_at(width, TOP_FILE), L"FILE",
			     4));
	top_line(&r[1], width, line);
	assert_true(!wcsncmp(line + top_column_at(width, TOP_FILE), L"/b ", 3));
	assert_true(!wcsncmp(line + top_column_at(width, TOP_HIT), L"   20",
			     5));
	top_line(&r[2], width, line);
	assert_true(!wcsncmp(line + top_column_at(width, TOP_HIT), L"    -",
			     5));
	free(r);
	top_process_free(p);
}

/* ---- bars -------------------------------------------------------------- */

static void is_drawn(char want, uint64_t dirty, uint64_t clean, uint64_t kept,
		     uint64_t cached, uint64_t own)
{
	const uint64_t n[MAP_KINDS] = { dirty, clean, kept, cached, own };
	enum map_kind k;

	assert_int_equal(map_bar_char(n, 10, &k), want);
}

static void bars(void **state)
{
	is_drawn(' ', 0, 0, 0, 0, 0);
	is_drawn('d', 1, 9, 0, 0, 0);
	is_drawn('D', 5, 5, 0, 0, 0);
	is_drawn('r', 0, 4, 3, 0, 0);
	is_drawn('R', 0, 5, 4, 0, 0);
	is_drawn('K', 0, 0, 10, 0, 0);
	is_drawn('c', 0, 0, 0, 1, 0);
	is_drawn('o', 0, 0, 0, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut),
		cmocka_unit_test(text_is_harmless),
		cmocka_unit_test(wide_characters),
		cmocka_unit_test(figures),
		cmocka_unit_test(statistics_are_taken),
		cmocka_unit_test(others_are_no_statistics),
		cmocka_unit_test(rates_of_an_interval),
		cmocka_unit_test(counts_begin_again),
		cmocka_unit_test(order),
		cmocka_unit_test(a_process_without_files),
		cmocka_unit_test(columns_fit),
		cmocka_unit_test(lines),
		cmocka_unit_test(bars),
	};

	setlocale(LC_ALL, "C.UTF-8");
	if (getenv("UNIT_LOCALE"))
		setlocale(LC_ALL, getenv("UNIT_LOCALE"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
