/* SPDX-License-Identifier: MIT */
/*
 * early.c - a library that the program is linked to, so that its constructor
 * runs before that of libfastmap, and maps files (mapped_early).
 */
#include "early.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define RW (PROT_READ | PROT_WRITE)

static struct early maps;

static char *map(const char *name, int prot, int flags)
{
	const size_t len = EARLY_PAGES * 4096;
	char path[3072];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("TMPDIR"), name);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)len))
		return NULL;
	p = mmap(NULL, len, prot, flags, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

__attribute__((constructor)) static void begin(void)
{
	maps = (struct early){
		.shared = map("early", RW, MAP_SHARED),
		.looks = map("early_looks", PROT_READ, MAP_SHARED),
		.private = map("early_private", PROT_READ, MAP_PRIVATE),
	};
}

struct early early_maps(void)
{
	return maps;
}
