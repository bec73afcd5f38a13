/* SPDX-License-Identifier: MIT */
/* differ.h - what the two sides of differ share: see differ.c. */
#ifndef DIFFER_H
#define DIFFER_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE 4096l
#define PAGES 96l   /* of the file that are looked at, from its base on */
#define SLOTS 6     /* mappings of a worker; the last two are private */
#define SHARED_SLOTS 4
#define ARGS 6
#define LINE 65536

/* What is the same for all workers of a run. */
struct plan {
	const char *dir;
	uint64_t base;  /* where in the file it all takes place */
	/* no touch beyond the end, nothing that hands over for good */
	bool gentle;
	bool verbose;   /* a hash of each page */
};

struct differ_op {
	const char *name;
	unsigned weight;
	bool native;    /* also for a worker without the library and mappings */
	bool harsh;     /* not when gentle */
	bool still;     /* other threads must not store meanwhile */
};
extern const struct differ_op differ_ops[];

/* Carries out what is asked on stdin, answers on stdout. */
int worker(const struct plan *p);

#endif
