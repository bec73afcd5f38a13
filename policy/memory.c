/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how much memory this process may use: the machine's, or less
 * where a control group of it, or of any group above, has a limit.
 */
#include "memory.h"

#include <string.h>
#include <sys/sysinfo.h>

#include "policy.h"
#include "sys.h"
#include "text.h"

#define PATH_ROOM 1024

/* A limit file, UINT64_MAX when there is none, or it says "max". v1 says "no
 * limit" with a number beyond any machine. */
static uint64_t read_limit(const char *dir, const char *name)
{
	char path[PATH_ROOM], text[64];
	uint64_t v;

	if (fm_join(path, sizeof(path), dir, "/", name) ||
	    fm_read_small(path, text, sizeof(text)) <= 0)
		return UINT64_MAX;
	text[strcspn(text, "\n")] = 0;
	return fm_parse_size(text, 0, &v) || v >> 62 ? UINT64_MAX : v;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Limits of a group and of all above it, up to the mount point. In a
 * container the path may not be visible; the mount point then is ours. */
static uint64_t limit_above(const char *mount, const char *group,
			    const char *const *names)
{
	uint64_t limit = UINT64_MAX;
	char dir[PATH_ROOM];
	size_t stop = strlen(mount);

	if (fm_join(dir, sizeof(dir), mount, group, ""))
		return limit;
	for (;;) {
		char *slash;

		for (const char *const *n = names; *n; n++)
			limit = least(limit, read_limit(dir, *n));
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= stop)
			return limit;
		*slash = 0;
	}
}

static const char *const v2_names[] = { "memory.max", "memory.high", NULL };
static const char *const v1_names[] = { "memory.limit_in_bytes", NULL };

/* "0::/a/b" (v2) or "7:cpu,memory:/a/b" (v1). */
static uint64_t limit_of_line(const char *root, char *line)
{
	char mount[PATH_ROOM];
	char *list = strchr(line, ':'), *group;
	uint64_t limit;

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
		return limit_above(mount, group, v1_names);
	}
	if (fm_join(mount, sizeof(mount), root, "/sys/fs/cgroup", ""))
		return UINT64_MAX;
	limit = limit_above(mount, group, v2_names);
	if (fm_join(mount, sizeof(mount), root, "/sys/fs/cgroup/unified", ""))
		return limit;
	return least(limit, limit_above(mount, group, v2_names));
}

uint64_t fm_cgroup_limit(const char *root)
{
	char path[PATH_ROOM], text[4096];
	uint64_t limit = UINT64_MAX;

	if (fm_join(path, sizeof(path), root, "/proc/self/cgroup", "") ||
	    fm_read_small(path, text, sizeof(text)) <= 0)
		return limit;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		limit = least(limit, limit_of_line(root, line));
	}
	return limit;
}

uint64_t fm_memory_total(void)
{
	struct sysinfo info;

	if (fm_sys1(SYS_sysinfo, &info) < 0)
		return (uint64_t)1 << 30;
	return (uint64_t)info.totalram * info.mem_unit;
}

uint64_t fm_memory_limit(void)
{
	return least(fm_memory_total(), fm_cgroup_limit(""));
}
