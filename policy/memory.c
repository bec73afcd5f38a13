/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how much memory this process may use: the machine's, or less
 * where a control group of it, or of any group above, has a limit.
 */
#include "memory.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/apart.h"
#include "base/sys.h"
#include "base/text.h"
#include "policy.h"

#define PATH_ROOM 1024

/* The files of a control group, by version. */
struct kind {
	const char *limits[3]; /* NULL terminated */
	const char *usage;
	const char *reclaimable[4]; /* fields of memory.stat */
	const char *refaults;
};

static const struct kind v1 = {
	.limits = { "memory.limit_in_bytes" },
	.usage = "memory.usage_in_bytes",
	.reclaimable = { "\ntotal_active_file ", "\ntotal_inactive_file " },
	.refaults = "\ntotal_workingset_refault_file ",
};
static const struct kind v2 = {
	.limits = { "memory.max", "memory.high" },
	.usage = "memory.current",
	.reclaimable = { "\nactive_file ", "\ninactive_file ",
			 "\nslab_reclaimable " },
	.refaults = "\nworkingset_refault_file ",
};

/* What is asked of each group. */
typedef uint64_t (*ask_fn)(const char *dir, const struct kind *k);

static bool read_in(const char *dir, const char *name, char *text, size_t size)
{
	char path[PATH_ROOM];

	return !fm_join(path, sizeof(path), dir, "/", name) &&
	       fm_read_small(path, text, size) > 0;
}

/* A file with a number, UINT64_MAX when there is none, or it says "max". v1
 * says "no limit" with a number beyond any machine. */
static uint64_t read_number(const char *dir, const char *name)
{
	char text[64];
	uint64_t v;

	if (!read_in(dir, name, text, sizeof(text)))
		return UINT64_MAX;
	text[strcspn(text, "\n")] = 0;
	return fm_parse_size(text, 0, &v) || v >> 62 ? UINT64_MAX : v;
}

static uint64_t limit_of(const char *dir, const struct kind *k)
{
	uint64_t limit = UINT64_MAX;

	for (const char *const *n = k->limits; *n; n++)
		limit = fm_least(limit, read_number(dir, *n));
	return limit;
}

/* The number behind a name at the beginning of a line, and spaces. */
static uint64_t memory_field(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	uint64_t v = 0;

	for (p = p ? p + strlen(name) : ""; *p == ' ';)
		p++;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

/* The least answer is the innermost group's, for a group counts what is in the
 * groups below. */
static uint64_t refaults_of(const char *dir, const struct kind *k)
{
	char text[8192];

	if (limit_of(dir, k) == UINT64_MAX ||
	    !read_in(dir, "memory.stat", text, sizeof(text)))
		return UINT64_MAX;
	return memory_field(text, k->refaults);
}

/* Page cache makes room for whoever needs memory; the rest stays. */
static uint64_t left_of(const char *dir, const struct kind *k)
{
	uint64_t limit = limit_of(dir, k), used;
	char text[8192];

	if (limit == UINT64_MAX)
		return UINT64_MAX;
	used = read_number(dir, k->usage);
	if (used == UINT64_MAX ||
	    !read_in(dir, "memory.stat", text, sizeof(text)))
		return UINT64_MAX;
	for (const char *const *n = k->reclaimable; *n; n++)
		used -= fm_least(used, memory_field(text, *n));
	return limit - fm_least(used, limit);
}

static uint64_t free_of(const char *dir, const struct kind *k)
{
	uint64_t limit = limit_of(dir, k), used;

	if (limit == UINT64_MAX)
		return UINT64_MAX;
	used = read_number(dir, k->usage);
	return used == UINT64_MAX ? UINT64_MAX : limit - fm_least(used, limit);
}

/* The least answer of a group and of all above it, up to the mount point. In a
 * container the path may not be visible; the mount point then is ours. */
static uint64_t ask_above(const char *mount, const char *group, ask_fn ask,
			  const struct kind *k)
{
	uint64_t v = UINT64_MAX;
	char dir[PATH_ROOM];
	size_t stop = strlen(mount);

	if (fm_join(dir, sizeof(dir), mount, group, ""))
		return v;
	for (;;) {
		char *slash;

		v = fm_least(v, ask(dir, k));
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= stop)
			return v;
		*slash = 0;
	}
}

/* "0::/a/b" (v2) or "7:cpu,memory:/a/b" (v1). */
static uint64_t ask_line(const char *root, char *line, ask_fn ask)
{
	char mount[PATH_ROOM];
	char *list = strchr(line, ':'), *group;
	uint64_t v;

	group = list ? strchr(list + 1, ':') : NULL;
	if (!group)
		return UINT64_MAX;
	*group++ = 0;
	list++;
	if (*list) {
		const char *m = strstr(list, "memory");

		if (!m || (m[6] && m[6] != ',') ||
		    fm_join(mount, sizeof(mount), root,
			    "/sys/fs/cgroup/memory", ""))
			return UINT64_MAX;
		return ask_above(mount, group, ask, &v1);
	}
	if (fm_join(mount, sizeof(mount), root, "/sys/fs/cgroup", ""))
		return UINT64_MAX;
	v = ask_above(mount, group, ask, &v2);
	if (fm_join(mount, sizeof(mount), root, "/sys/fs/cgroup/unified", ""))
		return v;
	return fm_least(v, ask_above(mount, group, ask, &v2));
}

static uint64_t ask_groups(const char *root, ask_fn ask)
{
	char text[4096];
	uint64_t v = UINT64_MAX;

	if (!read_in(root, "proc/self/cgroup", text, sizeof(text)))
		return v;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		v = fm_least(v, ask_line(root, line, ask));
	}
	return v;
}

uint64_t fm_cgroup_limit(const char *root)
{
	return ask_groups(root, limit_of);
}

/* Of the groups, and a line of /proc/meminfo. */
static uint64_t memory_ask_all(const char *root, ask_fn ask, const char *line)
{
	uint64_t least = ask_groups(root, ask), machine;
	char text[4096];

	if (!read_in(root, "proc/meminfo", text, sizeof(text)))
		return least;
	machine = memory_field(text, line) << 10;
	return machine ? fm_least(least, machine) : least;
}

uint64_t fm_memory_left(const char *root)
{
	return memory_ask_all(root, left_of, "\nMemAvailable:");
}

uint64_t fm_memory_free(const char *root)
{
	return memory_ask_all(root, free_of, "\nMemFree:");
}

uint64_t fm_memory_refaults(const char *root)
{
	uint64_t n = ask_groups(root, refaults_of);
	char text[16384];

	if (n != UINT64_MAX)
		return n;
	if (!read_in(root, "proc/vmstat", text, sizeof(text)))
		return 0;
	return memory_field(text, "\nworkingset_refault_file ");
}

uint64_t fm_memory_total(void)
{
	struct sysinfo info;

	if (fm_sys1(SYS_sysinfo, &info) < 0)
		return (uint64_t)1 << 30;
	return (uint64_t)info.totalram * info.mem_unit;
}

#define FRESH_MS 100

struct fresh {
	_Atomic uint64_t bytes, asked_ms;
};

/* A dozen files are read for each answer. */
static void memory_refresh(struct fresh *f, void (*ask)(void *arg))
{
	uint64_t bytes;

	/* Each file would be a thread. */
	fm_apart_from_fds(ask, &bytes);
	atomic_store(&f->bytes, bytes);
	atomic_store(&f->asked_ms, fm_now_ms());
}

/* Who reads the time of one answer and the bytes of a newer one is told what is
 * true by now. */
static uint64_t fresh_of(struct fresh *f, void (*ask)(void *arg))
{
	const uint64_t asked = atomic_load(&f->asked_ms);

	if (!asked || fm_now_ms() - asked >= FRESH_MS)
		memory_refresh(f, ask);
	return atomic_load(&f->bytes);
}

static void ask_limit(void *arg)
{
	*(uint64_t *)arg = fm_least(fm_memory_total(), fm_cgroup_limit(""));
}

/* A process that starts asks several times. */
uint64_t fm_memory_limit(void)
{
	static struct fresh limit;

	return fresh_of(&limit, ask_limit);
}

static void ask_left(void *arg)
{
	*(uint64_t *)arg = fm_memory_left("");
}

static struct fresh left;

uint64_t fm_memory_left_lately(void)
{
	return fresh_of(&left, ask_left);
}

uint64_t fm_memory_left_now(void)
{
	memory_refresh(&left, ask_left);
	return atomic_load(&left.bytes);
}
