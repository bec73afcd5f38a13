/* SPDX-License-Identifier: MIT */
/*
 * room.h - waits until a control group has room again, so that a slow disk or a
 * busy machine makes a program slower and does not end it: natively what waits
 * for room is the kernel's allocation.
 */
#ifndef ROOM_H
#define ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_ROOM_MS 20000

static void rest_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static bool is_anonymous(const char *name)
{
	return !strcmp(name, "inactive_anon") ||
	       !strcmp(name, "active_anon") || !strcmp(name, "unevictable");
}

/* What the kernel cannot give up without swap, in MiB: what was said MADV_FREE
 * of counts as file. Version 1 of control groups has "total_" before the names
 * for all of the group. */
static uint64_t used_mib(const char *stat)
{
	FILE *f = fopen(stat, "re");
	unsigned long n, v1 = 0, v2 = 0;
	char name[64];

	if (!f) {
		perror(stat);
		exit(9);
	}
	while (fscanf(f, "%63s %lu", name, &n) == 2) {
		if (!strncmp(name, "total_", 6))
			v1 += is_anonymous(name + 6) ? n : 0;
		else
			v2 += is_anonymous(name) ? n : 0;
	}
	fclose(f);
	return (v1 ? v1 : v2) >> 20;
}

static void wait_for_room(const char *stat, uint64_t limit_mib,
			  uint64_t room_mib)
{
	for (long ms = 0; used_mib(stat) + room_mib >= limit_mib; ms++) {
		if (ms == MOST_ROOM_MS) {
			printf("no room within 20 s\n");
			exit(3);
		}
		rest_ms(1);
	}
}

#endif
