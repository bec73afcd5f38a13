/* SPDX-License-Identifier: MIT */
#include "cold.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define WINDOW (1ul << 30)

static uint64_t stayed;

int cold_parse(const char *text)
{
	static const char *const words[] = { "files", "all", "no" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, words[i]))
			return i;
	return -1;
}

static void count_window(int fd, off_t at, size_t len)
{
	static unsigned char here[WINDOW / PAGE];
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, at);

	if (p == MAP_FAILED)
		return;
	if (mincore(p, len, here) == 0)
		for (size_t i = 0; i < (len + PAGE - 1) / PAGE; i++)
			stayed += here[i] & 1;
	munmap(p, len);
}

static void count_stayed(int fd, off_t size)
{
	for (off_t at = 0; at < size; at += (off_t)WINDOW)
		count_window(fd, at, size - at < (off_t)WINDOW ?
			     (size_t)(size - at) : WINDOW);
}

/* mincore(2) tells the truth only to who may write the file. */
static void cold_drop(int fd, const char *path, const struct stat *st)
{
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (st->st_uid == geteuid() || access(path, W_OK) == 0)
		count_stayed(fd, st->st_size);
}

static int cold_visit(const char *path, const struct stat *st, int type,
		      struct FTW *where)
{
	int fd;

	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0; /* the program may not either */
	cold_drop(fd, path, st);
	close(fd);
	return 0;
}

static int drop_below(const char *paths)
{
	char *list = strdup(paths), *next = list, *path;
	char real[PATH_MAX];

	while ((path = strsep(&next, ":")))
		if (*path && realpath(path, real))
			nftw(real, cold_visit, 32, FTW_PHYS);
	free(list);
	return 0;
}

static int cold_drop_all(void)
{
	int err = 0, fd;

	sync();
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "3", 1) != 1)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int cold_make(enum cold how, const char *paths, uint64_t *ret_stayed)
{
	int err = 0;

	stayed = 0;
	if (how == COLD_FILES)
		err = drop_below(paths);
	else if (how == COLD_ALL)
		err = cold_drop_all();
	*ret_stayed = stayed;
	return err;
}
