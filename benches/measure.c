/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

static void io_get(struct usage *u)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[128];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "read_bytes: %lu", &u->read_bytes);
		sscanf(line, "write_bytes: %lu", &u->write_bytes);
	}
	fclose(f);
}

/* Fields of /sys/block/DEV/stat: reads, merged, sectors, ms, writes, ... */
static void dev_get(struct usage *u, dev_t dev)
{
	uint64_t v[7] = { 0 };
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(dev),
		 minor(dev));
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%lu %lu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2],
		   &v[3], &v[4], &v[5], &v[6]) == 7) {
		u->dev_reads = v[0];
		u->dev_read_bytes = v[2] * 512;
		u->dev_writes = v[4];
		u->dev_write_bytes = v[6] * 512;
	}
	fclose(f);
}

void usage_get(struct usage *u, dev_t dev)
{
	struct rusage ru;

	memset(u, 0, sizeof(*u));
	getrusage(RUSAGE_SELF, &ru);
	u->cpu_user =
		(double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6;
	u->cpu_sys =
		(double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec / 1e6;
	u->minflt = (uint64_t)ru.ru_minflt;
	u->majflt = (uint64_t)ru.ru_majflt;
	u->vctx = (uint64_t)ru.ru_nvcsw;
	u->ictx = (uint64_t)ru.ru_nivcsw;
	io_get(u);
	dev_get(u, dev);
}

struct usage usage_between(const struct usage *a, const struct usage *b)
{
	return (struct usage){
		.cpu_user = b->cpu_user - a->cpu_user,
		.cpu_sys = b->cpu_sys - a->cpu_sys,
		.read_bytes = b->read_bytes - a->read_bytes,
		.write_bytes = b->write_bytes - a->write_bytes,
		.dev_reads = b->dev_reads - a->dev_reads,
		.dev_read_bytes = b->dev_read_bytes - a->dev_read_bytes,
		.dev_writes = b->dev_writes - a->dev_writes,
		.dev_write_bytes = b->dev_write_bytes - a->dev_write_bytes,
		.minflt = b->minflt - a->minflt,
		.majflt = b->majflt - a->majflt,
		.vctx = b->vctx - a->vctx,
		.ictx = b->ictx - a->ictx,
	};
}

void usage_add(struct usage *to, const struct usage *u)
{
	to->cpu_user += u->cpu_user;
	to->cpu_sys += u->cpu_sys;
	to->read_bytes += u->read_bytes;
	to->write_bytes += u->write_bytes;
	to->minflt += u->minflt;
	to->majflt += u->majflt;
	to->vctx += u->vctx;
	to->ictx += u->ictx;
}

void usage_print(const struct usage *u)
{
	printf(",\"cpu_s\":%.4f,\"cpu_user_s\":%.4f,\"cpu_sys_s\":%.4f",
	       u->cpu_user + u->cpu_sys, u->cpu_user, u->cpu_sys);
	printf(",\"read_bytes\":%lu,\"write_bytes\":%lu", u->read_bytes,
	       u->write_bytes);
	printf(",\"dev_reads\":%lu,\"dev_read_bytes\":%lu", u->dev_reads,
	       u->dev_read_bytes);
	printf(",\"dev_writes\":%lu,\"dev_write_bytes\":%lu", u->dev_writes,
	       u->dev_write_bytes);
	printf(",\"minflt\":%lu,\"majflt\":%lu,\"vctx\":%lu,\"ictx\":%lu",
	       u->minflt, u->majflt, u->vctx, u->ictx);
}

uint64_t status_bytes(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = strtoul(line + strlen(key), NULL, 10);
	fclose(f);
	return kib * 1024;
}

uint64_t parse_size(const char *s)
{
	char *end;
	double v = strtod(s, &end);
	const char *units = "KMGT", *u = *end ? strchr(units, *end) : NULL;

	if (end == s || v < 0 || (*end && !u) || (u && end[1])) {
		fprintf(stderr, "bad size: %s\n", s);
		exit(2);
	}
	return (uint64_t)(v * (double)(u ? 1ull << (10 * (u - units + 1)) : 1));
}
