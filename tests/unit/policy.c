/* SPDX-License-Identifier: MIT */
/* Sizes, globs, policy files, environment, memory limits. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "glob.h"
#include "memory.h"
#include "policy.h"

static char dir[64];

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static int turn;
	char *p = path[turn++ % 4];

	snprintf(p, 256, "%s/%s", dir, name);
	return p;
}

static const char *put(const char *name, const char *text)
{
	const char *path = in_dir(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

/* Load with an environment of our own; up to 6 variables. */
#define LOAD(name, ...)                                       \
	do {                                                  \
		char *env_[] = { __VA_ARGS__ __VA_OPT__(, ) NULL }; \
		fm_policy_load(name, env_);                   \
	} while (0)

/* "NAME=" + path in a static buffer. */
static char *var(const char *name, const char *value)
{
	static char text[6][512];
	static int turn;
	char *p = text[turn++ % 6];

	snprintf(p, 512, "%s=%s", name, value);
	return p;
}

/* What fm_log writes while fn-like code runs: stderr goes to a file. */
static char said[8192];
static int saved_stderr;

static void listen_begin(void)
{
	int fd = open(in_dir("stderr"), O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	saved_stderr = dup(2);
	dup2(fd, 2);
	close(fd);
}

static void listen_end(void)
{
	FILE *f;
	size_t n;

	dup2(saved_stderr, 2);
	close(saved_stderr);
	f = fopen(in_dir("stderr"), "r");
	assert_non_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = 0;
	fclose(f);
}

static void size_table(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} t[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "1M", 0, 1 << 20 },
		{ "3MiB", 0, 3 << 20 },
		{ "3MB", 0, 3 << 20 },
		{ "512B", 0, 512 },
		{ "2T", 0, 2ull << 40 },
		{ "50%", 0, 500 },
		{ "100%", 0, 1001 },
		{ "101%", -ERANGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "17179869184G", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 M", -EINVAL, 0 },
		{ "1Mi", -EINVAL, 0 },
		{ "1Q", -EINVAL, 0 },
		{ "5%%", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = 77;

		assert_int_equal(fm_parse_size(t[i].text, 1001, &v), t[i].r);
		assert_true(v == (t[i].r ? 77 : t[i].value));
	}
}

static void glob_table(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} t[] = {
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "", "", true },
		{ "*", "", true },
		{ "*", "a/b", false },
		{ "**", "a/b", true },
		{ "*b", "abab", true },
		{ "*ab*c", "xababyc", true },
		{ "?", "/", false },
		{ "a?c", "abc", true },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]x", "bx", false },
		{ "[]]", "]", true },
		{ "[a", "a", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "/d/*.mdb", "/d/x.mdb", true },
		{ "/d/*.mdb", "/d/e/x.mdb", false },
		{ "/d/**.mdb", "/d/e/x.mdb", true },
		{ "/d/**/x*", "/d/e/f/xy", true },
		{ "/d/**/x*", "/d/e/xf/y", false },
		{ "/**/a*b/c", "/1/axb/2/ab/c", true },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (fm_glob(t[i].pattern, t[i].text) != t[i].match)
			fail_msg("%s against %s", t[i].pattern, t[i].text);
}

static void glob_is_not_exponential(void **state)
{
	char text[2001];

	memset(text, 'a', 2000);
	text[2000] = 0;
	assert_false(fm_glob("*a*a*a*a*a*a*a*a*a*a*b", text));
	assert_false(fm_glob("**a**a**a**a**a**a**b", text));
}

static void path_patterns(void **state)
{
	assert_true(fm_path_match("/data", "/data"));
	assert_true(fm_path_match("/data/", "/data/x/y"));
	assert_false(fm_path_match("/data", "/database"));
	assert_true(fm_path_match("/", "/x"));
	assert_true(fm_path_match("*.mdb", "/a/b/x.mdb"));
	assert_false(fm_path_match("*.mdb", "/a/b.mdb/x"));
	assert_true(fm_path_match("/proc", "/proc/self/maps"));
}

static void without_anything_nothing_is_managed(void **state)
{
	LOAD("prog");
	assert_false(fm_policy_any());
	assert_null(fm_policy_for("/data/x"));
	assert_int_equal(fm_settings()->mode, FM_MODE_ON);
	assert_true(fm_settings()->guardian);
	assert_true(fm_settings()->cache.automatic);
	assert_int_equal(fm_settings()->cache.percent, 50);
	assert_true(fm_cache_bytes(&fm_settings()->cache) ==
		    fm_memory_limit() / 100 * 50);
}

/* Its file is written to make room; the marks are those of other files. */
static void a_heap_leaves_the_marks_alone(void **state)
{
	LOAD("prog", "FASTMAP_HEAP=/tmp");
	assert_int_equal(fm_policy_default()->wb_high, 20);
	assert_int_equal(fm_policy_default()->wb_low, 10);
	LOAD("prog", "FASTMAP_HEAP=/tmp", "FASTMAP_WB_HIGH=30");
	assert_int_equal(fm_policy_default()->wb_high, 30);
	assert_int_equal(fm_policy_default()->wb_low, 10);
}

static void prefixes_are_whole_components(void **state)
{
	LOAD("prog", "FASTMAP_PATHS=/data:/no/such//place/");
	assert_non_null(fm_policy_for("/data/x"));
	assert_non_null(fm_policy_for("/data"));
	assert_null(fm_policy_for("/data2/x"));
	assert_non_null(fm_policy_for("/no/such/place/x"));
	assert_null(fm_policy_for("relative/x"));
}

static void prefixes_follow_symlinks(void **state)
{
	char real[256];

	assert_int_equal(mkdir(in_dir("real"), 0700), 0);
	assert_int_equal(symlink("real", in_dir("link")), 0);
	snprintf(real, sizeof(real), "%s/later", in_dir("link"));
	LOAD("prog", var("FASTMAP_PATHS", real));
	snprintf(real, sizeof(real), "%s/later/file", in_dir("real"));
	assert_non_null(fm_policy_for(real));
}

static void deny_list_has_defaults(void **state)
{
	LOAD("prog", "FASTMAP_PATHS=/", "FASTMAP_ALLOW=good.lock",
	     "FASTMAP_DENY=*.tmp,/x");
	assert_non_null(fm_policy_for("/data/data.mdb"));
	assert_null(fm_policy_for("/data/lock.mdb"));
	assert_null(fm_policy_for("/data/blast.ndb-lock"));
	assert_null(fm_policy_for("/data/db-shm"));
	assert_null(fm_policy_for("/dev/shm/x"));
	assert_null(fm_policy_for("/proc/self/maps"));
	assert_null(fm_policy_for("/a/y.tmp"));
	assert_null(fm_policy_for("/x/y"));
	assert_null(fm_policy_for("/a/bad.lock"));
	assert_non_null(fm_policy_for("/a/good.lock"));
}

static const char sample[] =
	"\xEF\xBB\xBF# a comment\n"
	"cache = 64M   # trailing\n"
	"min-size=16K\n"
	"[path /data]\n"
	"  block = 64K\n"
	"[path /data/*.log]\n"
	"engage = no\n"
	"[process other]\n"
	"cache = 1G\n"
	"[path /data/x]\n"
	"block = 4K\n"
	"[process pro?]\n"
	"faults = thread\n"
	"[path *.idx]\n"
	"map-ahead = 0\n"
	"[process *]\n"
	"io = buffered\n"; /* after the sections, still their default */

static void file_and_sections(void **state)
{
	const struct fm_policy *p;

	LOAD("prog", var("FASTMAP_POLICY", put("a.policy", sample)));
	assert_true(fm_settings()->cache.bytes == 64 << 20);
	assert_int_equal(fm_settings()->cache.percent, 0);
	assert_int_equal(fm_settings()->faults, FM_FAULTS_THREAD);
	assert_string_equal(fm_settings()->source, in_dir("a.policy"));
	p = fm_policy_for("/data/x");
	assert_int_equal(p->block_size, 65536);
	assert_int_equal(p->min_size, 16384);
	assert_int_equal(p->io, FM_IO_BUFFERED);
	assert_false(fm_policy_for("/data/a.log")->engage);
	assert_int_equal(fm_policy_for("/elsewhere/a.idx")->map_ahead, 0);
	assert_null(fm_policy_for("/elsewhere/a"));
}

static void process_section_of_another_program(void **state)
{
	LOAD("other", var("FASTMAP_POLICY", put("a.policy", sample)));
	assert_true(fm_settings()->cache.bytes == 1 << 30);
	assert_int_equal(fm_settings()->faults, FM_FAULTS_AUTO);
	assert_int_equal(fm_policy_for("/data/x")->block_size, 4096);
	assert_null(fm_policy_for("/elsewhere/a.idx"));
}

static void environment_overrides(void **state)
{
	LOAD("prog", var("FASTMAP_POLICY", put("a.policy", sample)),
	     "FASTMAP_CACHE=25%", "FASTMAP_BLOCK=2M", "FASTMAP_STATS=1",
	     "FASTMAP_PATHS=/elsewhere");
	assert_int_equal(fm_settings()->cache.percent, 25);
	assert_false(fm_settings()->cache.automatic);
	assert_int_equal(fm_policy_for("/data/x")->block_size, 2 << 20);
	assert_int_equal(fm_policy_for("/elsewhere/x")->block_size, 2 << 20);
	assert_string_equal(fm_settings()->stats, "stderr");
}

static void bad_lines_are_reported_once(void **state)
{
	char text[1200] = "cache = lots\n"
			  "blok = 4K\n"
			  "faults = maybe\n"
			  "block = 5K\n"
			  "block = 16M\n"
			  "no equals sign\n"
			  "[path /data]\n"
			  "cache = 1G\n"
			  "io = fast\n"
			  "block = 8K\n"
			  "[Path x]\n"
			  "block = 16K\n"
			  "[path /data/y\n"
			  "wb-high = 300\n";
	static const char *const want[] = {
		":1: cache: bad value 'lots', 16K to 64T, 1% to 100%, or auto; "
		"line ignored",
		":2: unknown option 'blok'",
		":3: faults: not one of the choices: 'maybe'",
		":4: block: bad value '5K', 4K to 8M, a power of two, or 0; "
		"line ignored",
		":5: block: out of range: '16M', 4K to 8M, a power of two, or 0; "
		"line ignored",
		":6: expected 'key = value'",
		":8: not for a path 'cache'",
		":9: io: not one of the choices: 'fast'",
		":11: unknown section 'Path x'",
		":13: bad section header",
		":14: wb-high: out of range: '300', 1 to 90; line ignored",
		":15: expected 'a shorter line'",
	};
	int lines = 0;

	strcat(text, "deny = ");
	memset(text + strlen(text), 'x', 500);
	listen_begin();
	LOAD("prog", var("FASTMAP_POLICY", put("bad.policy", text)));
	listen_end();
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (!strstr(said, want[i]))
			fail_msg("missing: %s in\n%s", want[i], said);
	for (const char *p = said; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 12);
	/* What was good applies. */
	assert_int_equal(fm_policy_for("/data/x")->block_size, 8192);
	listen_begin();
	assert_int_equal(fm_policy_check(in_dir("bad.policy")), 12);
	listen_end();
}

static void bad_environment_is_reported(void **state)
{
	listen_begin();
	LOAD("prog", "FASTMAP_CACHE=much", "FASTMAP_MODE=fly");
	listen_end();
	assert_non_null(strstr(said, "FASTMAP_CACHE: cache: bad value 'much'"));
	assert_non_null(strstr(said, "FASTMAP_MODE: mode: not one of"));
	assert_int_equal(fm_settings()->mode, FM_MODE_ON);
	listen_begin();
	LOAD("prog", "FASTMAP_CACHE=much", "FASTMAP_LOG=0");
	listen_end();
	assert_string_equal(said, "");
}

static void bad_items_of_a_list(void **state)
{
	char paths[3 * sizeof(dir)];

	put("plain", "");
	snprintf(paths, sizeof(paths), "FASTMAP_PATHS=%s/plain/x: %s/good ",
		 dir, dir);
	listen_begin();
	LOAD("prog", paths);
	listen_end();
	assert_non_null(strstr(said, "plain/x', Not a directory"));
	assert_non_null(fm_policy_for(in_dir("good/file")));
	listen_begin();
	LOAD("prog", "FASTMAP_PATHS=/nowhere/*");
	listen_end();
	assert_non_null(strstr(said, "paths '/nowhere/*', taken as it stands"));
}

static void said_once_and_typos_by_default(void **state)
{
	listen_begin();
	LOAD("prog", "FASTMAP_LOG=lots", "FASTMAP_PATH=/data");
	listen_end();
	assert_string_equal(said, "fastmap: FASTMAP_LOG: log: bad value "
				  "'lots', 0 to 3; ignored, default 1\n"
				  "fastmap: unknown variable FASTMAP_PATH "
				  "(is FASTMAP_PATHS meant?)\n");
	listen_begin();
	LOAD("prog", "FASTMAP_SOMETHING_ELSE=1", "FASTMAP_TEST_DIR=/x");
	listen_end();
	assert_string_equal(said,
		"fastmap: unknown variable FASTMAP_SOMETHING_ELSE\n");
}

static void missing_and_odd_files(void **state)
{
	listen_begin();
	LOAD("prog", var("FASTMAP_POLICY", in_dir("none")));
	listen_end();
	assert_non_null(strstr(said, "cannot read policy file"));
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	listen_begin();
	LOAD("prog", var("FASTMAP_POLICY", in_dir("fifo")));
	LOAD("prog", var("FASTMAP_POLICY", dir));
	listen_end();
	assert_non_null(strstr(said, "fifo (errno 22)"));
	assert_non_null(strstr(said, "(errno 21)"));
}

static void found_by_program_name(void **state)
{
	assert_int_equal(mkdir(in_dir(".config"), 0700), 0);
	assert_int_equal(mkdir(in_dir(".config/fastmap"), 0700), 0);
	put(".config/fastmap/prog.policy", "paths = /from-home\n");
	LOAD("prog", var("HOME", dir));
	assert_non_null(fm_policy_for("/from-home/x"));
	LOAD("another", var("HOME", dir));
	assert_false(fm_policy_any());
	/* An empty FASTMAP_POLICY means: none. */
	LOAD("prog", var("HOME", dir), "FASTMAP_POLICY=");
	assert_false(fm_policy_any());
}

static void command_lists(void **state)
{
	LOAD("prog", "FASTMAP_PATHS=/d", "FASTMAP_CMDS=x:pr*");
	assert_int_equal(fm_settings()->mode, FM_MODE_ON);
	LOAD("sh", "FASTMAP_PATHS=/d", "FASTMAP_CMDS=x:pr*");
	assert_int_equal(fm_settings()->mode, FM_MODE_OFF);
	LOAD("sh", "FASTMAP_PATHS=/d", "FASTMAP_SKIP_CMDS=bash,sh");
	assert_int_equal(fm_settings()->mode, FM_MODE_OFF);
}

static void reload_keeps_old_policies(void **state)
{
	const struct fm_policy *before;

	put("r.policy", "cache=32M\n[path /data]\nblock=8K\n");
	LOAD("prog", var("FASTMAP_POLICY", in_dir("r.policy")));
	before = fm_policy_for("/data/x");
	put("r.policy", "cache=48M\n[path /data]\nblock=16K\n");
	fm_policy_reload();
	assert_true(fm_settings()->cache.bytes == 48 << 20);
	assert_int_equal(before->block_size, 8192);
	assert_int_equal(fm_policy_for("/data/x")->block_size, 16384);
}

static void watermarks_are_ordered(void **state)
{
	listen_begin();
	LOAD("prog", "FASTMAP_PATHS=/d", "FASTMAP_WB_HIGH=8");
	listen_end();
	assert_int_equal(fm_policy_for("/d/x")->wb_low, 4);
	assert_non_null(strstr(said, "wb-low is not below wb-high"));
}

static void parts_of_the_cache(void **state)
{
	const struct fm_policy *p;

	put("s.policy", "[path /data/graph]\ncache-floor = 25%\n"
	    "priority = high\npin = 64M\n"
	    "[path /data/vectors]\ncache-share = 1G\npriority = low\n"
	    "pin = minute\n[path /data/x]\ncache-share=10%\n"
	    "cache-floor=20%\n");
	listen_begin();
	LOAD("prog", var("FASTMAP_POLICY", in_dir("s.policy")));
	listen_end();
	p = fm_policy_for("/data/graph");
	assert_int_equal(p->cache_floor.percent, 25);
	assert_int_equal(p->cache_share.percent, 100);
	assert_int_equal(p->priority, FM_PRIORITY_HIGH);
	assert_int_equal(p->pin, 64 << 20);
	p = fm_policy_for("/data/vectors");
	assert_int_equal(p->cache_share.percent, 0);
	assert_int_equal(p->cache_share.bytes, 1 << 30);
	assert_int_equal(p->priority, FM_PRIORITY_LOW);
	assert_true(p->pin == FM_PIN_MINUTE);
	assert_int_equal(fm_policy_for("/data/x")->cache_floor.percent, 10);
	assert_non_null(strstr(said, "cache-floor is above cache-share"));
	put("n.policy", "[path /data]\ncache-share = 101%\n"
	    "cache-floor = lots\npriority = highest\npin = hour\n"
	    "pin = 5%\ncache-share = -1\ncache-floor = 65T\n");
	listen_begin();
	assert_int_equal(fm_policy_check(in_dir("n.policy")), 7);
	assert_int_equal(fm_policy_check(in_dir("s.policy")), 1);
	listen_end();
}

static void make_dirs(const char *path)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "mkdir -p %s", in_dir(path));
	assert_int_equal(system(cmd), 0);
}

static void cgroup_limits(void **state)
{
	const char *root = in_dir("cg");

	assert_true(fm_cgroup_limit(root) == UINT64_MAX);
	make_dirs("cg/proc/self");
	make_dirs("cg/sys/fs/cgroup/a/b");
	make_dirs("cg/sys/fs/cgroup/memory/m");
	put("cg/proc/self/cgroup", "0::/a/b\n");
	assert_true(fm_cgroup_limit(in_dir("cg")) == UINT64_MAX);
	put("cg/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("cg/sys/fs/cgroup/a/memory.max", "2000000\n");
	assert_true(fm_cgroup_limit(in_dir("cg")) == 2000000);
	put("cg/sys/fs/cgroup/a/b/memory.high", "1000000\n");
	assert_true(fm_cgroup_limit(in_dir("cg")) == 1000000);
	put("cg/proc/self/cgroup", "7:cpu:/a\n3:cpuset,memory:/m\n");
	put("cg/sys/fs/cgroup/memory/m/memory.limit_in_bytes",
	    "9223372036854771712\n");
	put("cg/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
	assert_true(fm_cgroup_limit(in_dir("cg")) == 3000000);
}

static void page_cache_that_came_back(void **state)
{
	assert_int_equal(fm_memory_refaults(in_dir("back")), 0);
	make_dirs("back/proc/self");
	make_dirs("back/sys/fs/cgroup/a/b");
	make_dirs("back/sys/fs/cgroup/memory/m");
	put("back/proc/self/cgroup", "0::/a/b\n");
	put("back/proc/vmstat", "nr_free_pages 5\nworkingset_refault_anon 3\n"
				"workingset_refault_file 900\n");
	put("back/sys/fs/cgroup/a/b/memory.stat",
	    "anon 1\nworkingset_refault_file 7\n");
	put("back/sys/fs/cgroup/a/memory.stat",
	    "anon 1\nworkingset_refault_anon 5\nworkingset_refault_file 40\n");
	assert_int_equal(fm_memory_refaults(in_dir("back")), 900);
	put("back/sys/fs/cgroup/a/memory.max", "5000000\n");
	assert_int_equal(fm_memory_refaults(in_dir("back")), 40);
	put("back/sys/fs/cgroup/a/b/memory.max", "4000000\n");
	assert_int_equal(fm_memory_refaults(in_dir("back")), 7);
	put("back/proc/self/cgroup", "3:cpuset,memory:/m\n");
	put("back/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "3000000\n");
	put("back/sys/fs/cgroup/memory/m/memory.stat",
	    "cache 1\nworkingset_refault_file 1\n"
	    "total_workingset_refault_file 2\n");
	assert_int_equal(fm_memory_refaults(in_dir("back")), 2);
}

static void memory_that_is_left(void **state)
{
	const char *root = in_dir("left");

	assert_true(fm_memory_left(root) == UINT64_MAX);
	make_dirs("left/proc/self");
	make_dirs("left/sys/fs/cgroup/a/b");
	make_dirs("left/sys/fs/cgroup/memory/m");
	put("left/proc/self/cgroup", "0::/a/b\n");
	put("left/proc/meminfo", "MemTotal: 9000 kB\nMemFree:  1 kB\n"
				 "MemAvailable:    8000 kB\n");
	assert_true(fm_memory_left(in_dir("left")) == 8000 << 10);
	/* No limit, or one of which nothing more is known. */
	put("left/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("left/sys/fs/cgroup/a/memory.max", "5000000\n");
	assert_true(fm_memory_left(in_dir("left")) == 8000 << 10);
	put("left/sys/fs/cgroup/a/memory.current", "4000000\n");
	put("left/sys/fs/cgroup/a/memory.stat",
	    "anon 2500000\nfile 1000000\nactive_file 300000\n"
	    "inactive_file 700000\nslab_reclaimable 100000\n"
	    "workingset_activate_file 9\n");
	assert_true(fm_memory_left(in_dir("left")) == 2100000);
	/* The old kind of group counts its children apart. */
	put("left/proc/self/cgroup", "3:cpuset,memory:/m\n");
	put("left/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "3000000\n");
	put("left/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "3000000\n");
	put("left/sys/fs/cgroup/memory/m/memory.stat",
	    "cache 1\nactive_file 5\ninactive_file 6\ntotal_cache 900000\n"
	    "total_inactive_file 400000\ntotal_active_file 350000\n");
	assert_true(fm_memory_left(in_dir("left")) == 750000);
}

static void memory_that_nobody_has(void **state)
{
	assert_true(fm_memory_free(in_dir("free")) == UINT64_MAX);
	make_dirs("free/proc/self");
	make_dirs("free/sys/fs/cgroup/a/b");
	put("free/proc/self/cgroup", "0::/a/b\n");
	put("free/proc/meminfo", "MemTotal: 9000 kB\nMemFree:  700 kB\n"
				 "MemAvailable:    8000 kB\n");
	assert_true(fm_memory_free(in_dir("free")) == 700 << 10);
	/* Page cache counts as used. */
	put("free/sys/fs/cgroup/a/memory.max", "5000000\n");
	put("free/sys/fs/cgroup/a/memory.current", "4600000\n");
	assert_true(fm_memory_free(in_dir("free")) == 400000);
}

static void shipped_profiles_are_clean(void **state)
{
	const char *src = getenv("FM_PROFILES");
	static const char *const name[] = {
		"monetdb", "lmdb", "rocksdb", "lrzip", "sqlite", "vector-index"
	};
	char path[512];

	if (!src)
		skip();
	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s.policy", src, name[i]);
		assert_int_equal(fm_policy_check(path), 0);
	}
}

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/fm-policy-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
FM_UNIT(policy)
{
	const struct CMUnitTest tests[] = {
		T(size_table),
		T(glob_table),
		T(glob_is_not_exponential),
		T(path_patterns),
		T(without_anything_nothing_is_managed),
		T(a_heap_leaves_the_marks_alone),
		T(prefixes_are_whole_components),
		T(prefixes_follow_symlinks),
		T(deny_list_has_defaults),
		T(file_and_sections),
		T(process_section_of_another_program),
		T(environment_overrides),
		T(bad_lines_are_reported_once),
		T(bad_environment_is_reported),
		T(bad_items_of_a_list),
		T(said_once_and_typos_by_default),
		T(missing_and_odd_files),
		T(found_by_program_name),
		T(command_lists),
		T(reload_keeps_old_policies),
		T(watermarks_are_ordered),
		T(parts_of_the_cache),
		T(cgroup_limits),
		T(page_cache_that_came_back),
		T(memory_that_is_left),
		T(memory_that_nobody_has),
		T(shipped_profiles_are_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
