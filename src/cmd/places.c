/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libfastmap.so"
#define HEAP "libfastmap-heap.so"
#define PROFILES "fastmap/profiles"

/* Of the directory that this program is in; NULL: it does not end so. */
static const char *own_dir_before(const char *end)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t len = strlen(end);
	char *slash;

	if (n <= 0)
		return NULL;
	path[n] = 0;
	slash = strrchr(path, '/');
	*slash = 0;
	if ((size_t)(slash - path) <= len || strcmp(slash - len, end) ||
	    slash[-(long)len - 1] != '/')
		return NULL;
	slash[-(long)len - 1] = 0;
	return path;
}

static bool is_at(char *buf, size_t size, const char *top, const char *dir,
		  const char *name)
{
	int n = snprintf(buf, size, "%s%s%s/%s", *dir == '/' ? "" : top,
			 *dir == '/' ? "" : "/", dir, name);

	return n > 0 && (size_t)n < size && access(buf, R_OK) == 0;
}

/* In the tree that this program is installed in, else where it was meant to
 * be. */
static const char *installed(char *buf, size_t size, const char *dir,
			     const char *name)
{
	const char *top = own_dir_before(FM_BINDIR);

	if (!top || !is_at(buf, size, top, dir, name))
		is_at(buf, size, FM_PREFIX, dir, name);
	return buf;
}

const char *place_of_library(void)
{
	static char path[2 * PATH_MAX];
	const char *built = own_dir_before("src/cmd");

	if (built && is_at(path, sizeof(path), built, ".", LIBRARY))
		return path;
	return installed(path, sizeof(path), FM_LIBDIR, LIBRARY);
}

/* In a build directory it is in one of its own. */
const char *place_of_heap(const char *library)
{
	static char path[2 * PATH_MAX];
	char top[PATH_MAX];

	snprintf(top, sizeof(top), "%s", library);
	*strrchr(top, '/') = 0;
	if (!is_at(path, sizeof(path), top, "shim/heap", HEAP))
		is_at(path, sizeof(path), top, ".", HEAP);
	return path;
}

static const char *place_of_profile(const char *name)
{
	static char path[2 * PATH_MAX];
	const char *built = own_dir_before("src/cmd");
	char file[NAME_MAX + 64];

	/* A build directory is usually in the source tree. */
	snprintf(file, sizeof(file), "%s.policy", name);
	if (built &&
	    is_at(path, sizeof(path), built, "../policy/profiles", file))
		return path;
	snprintf(file, sizeof(file), PROFILES "/%s.policy", name);
	return installed(path, sizeof(path), FM_DATADIR, file);
}

const char *place_of_policy(const char *name)
{
	struct stat st;

	if (strchr(name, '/') ||
	    (stat(name, &st) == 0 && S_ISREG(st.st_mode)))
		return name;
	return place_of_profile(name);
}

int place_full(const char *path, char *ret_full)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char dir[PATH_MAX], real[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%.*s",
			 slash ? (int)(slash - path) + 1 : 1,
			 slash ? path : ".");

	if (n >= (int)sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (!realpath(dir, real))
		return -1;
	n = snprintf(ret_full, PATH_MAX, "%s/%s", real[1] ? real : "", base);
	if (n < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}
