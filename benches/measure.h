/* SPDX-License-Identifier: MIT */
/* measure.h - clock, CPU, bytes and memory of this process. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct usage {
	double cpu_user, cpu_sys;            /* seconds, all threads */
	uint64_t read_bytes, write_bytes;    /* /proc/self/io */
	/* the file's device, whole machine */
	uint64_t dev_reads, dev_read_bytes;
	uint64_t dev_writes, dev_write_bytes;
	uint64_t minflt, majflt, vctx, ictx;
};

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* `dev`: st_dev of the file. What cannot be read stays zero. */
void usage_get(struct usage *u, dev_t dev);
/* What was used between two looks. */
struct usage usage_between(const struct usage *a, const struct usage *b);
/* Adds another process's; the device's are the whole machine's: left alone. */
void usage_add(struct usage *to, const struct usage *u);
/* Prints members of a JSON object, comma first. */
void usage_print(const struct usage *u);
/* A line of /proc/self/status in bytes, 0 when absent. `key` with colon. */
uint64_t status_bytes(const char *key);

/* "64M", "1G", "4096"; exits with a message on bad input. */
uint64_t parse_size(const char *s);

#endif
