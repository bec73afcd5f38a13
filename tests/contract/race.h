/* SPDX-License-Identifier: MIT */
/* race.h - threads map windows of a file while another one stores to it through
 * a mapping: a window must show every store made before it is looked at. */
#ifndef RACE_H
#define RACE_H

#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static char path[4096];
static _Atomic uint64_t stored; /* in the first bytes of the file */
static _Atomic int stop;
static _Atomic long behind, looks;

static void look(const char *p)
{
	uint64_t least = atomic_load(&stored);

	looks++;
	if (*(volatile const uint64_t *)p < least)
		behind++;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Looked at once at least, and for so many microseconds. */
static void map_window(int fd, unsigned us)
{
	char *p = ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
	uint64_t until = now_us() + us;

	do
		look(p);
	while (now_us() < until);
	munmap(p, 2 * PAGE);
}

static void store_all(int fd, size_t len, int stores)
{
	char *p = ct_map(fd, len, RW, MAP_SHARED, 0);

	for (int i = 0; i < stores; i++) {
		uint64_t v = atomic_load(&stored) + 1;

		*(volatile uint64_t *)p = v;
		atomic_store(&stored, v);
		usleep(20);
	}
	munmap(p, len);
}

static int race_file(const char *name, size_t len)
{
	int fd = ct_file(name, len);

	snprintf(path, sizeof(path), "%s/%s", ct_dir, name);
	atomic_store(&stored, 0);
	ct_pwrite(fd, &(uint64_t){ 0 }, 8, 0);
	return fd;
}

static void say_behind(const char *row)
{
	say("%s windows that did not show a store: %ld; looked often: %s", row,
	    atomic_load(&behind), atomic_load(&looks) > 10000 ? "yes" : "no");
}

#endif
