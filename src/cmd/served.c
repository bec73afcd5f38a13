/* SPDX-License-Identifier: MIT */
/*
 * The documents are our own library's: a key stands once in the part that is
 * looked at, on a line of its own.
 */
#include "served.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glob.h"

static uint64_t number(const char *text, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	at = strstr(text, quoted);
	return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

/* The text behind `before`, up to the next quote. */
static const char *word(const char *text, const char *before, char *ret,
			size_t size)
{
	const char *at = strstr(text, before);

	*ret = 0;
	if (!at)
		return NULL;
	at += strlen(before);
	snprintf(ret, size, "%.*s", (int)strcspn(at, "\""), at);
	return at;
}

/* The first file that was left to the kernel, and why. */
static void take_left(const char *text, struct served *s)
{
	char path[PATH_MAX], why[256];
	const char *at = strstr(text, "\"left_to_kernel\"");

	if (!at || *s->left)
		return;
	at = word(at, "\"path\": \"", path, sizeof(path));
	if (!at || !word(at, "\"reason\": \"", why, sizeof(why)))
		return;
	snprintf(s->left, sizeof(s->left), "%.200s: %s", fm_base_name(path),
		 why);
}

static void take(const char *text, struct served *s)
{
	const char *totals = strstr(text, "\"totals\"");
	uint64_t cache = number(text, "limit_bytes");

	s->processes++;
	if (cache > s->cache)
		s->cache = cache;
	take_left(text, s);
	if (!totals)
		return;
	s->files += number(totals, "files");
	s->faults += number(totals, "answered");
	s->read += number(totals, "all_load_bytes");
}

static void take_file(const char *path, struct served *s)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return;
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n > 0) {
		text[n] = 0;
		take(text, s);
	}
	free(text);
	close(fd);
	unlink(path);
}

void served_take(const char *folder, struct served *ret)
{
	DIR *d = opendir(folder);
	char path[PATH_MAX + 256];
	struct dirent *e;

	memset(ret, 0, sizeof(*ret));
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (*e->d_name != '.')
			take_file(path, ret);
	}
	if (d)
		closedir(d);
}
