/* SPDX-License-Identifier: MIT */
/* differ_worker.h - what the calls of a worker of differ share. */
#ifndef DIFFER_WORKER_H
#define DIFFER_WORKER_H

#include "differ.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where slots lie that do not leave it to the kernel: nobody else maps here. */
#define FLOOR ((char *)0x100000000000)
#define ROOM 0x1000000l
#define UNKNOWN (-1l)

struct slot {
	char *volatile addr;
	volatile long n;          /* pages */
	long at[PAGES];           /* page of the file, from base on; UNKNOWN */
	int prot[PAGES];
	bool advised;             /* in parts: the kernel may hold several */
};

extern struct slot slots[SLOTS];
extern const struct plan *plan;
extern char path[4096], other[4096]; /* the file; what is copied from it */
extern int fd;
extern char *heap;             /* of no file */
extern char *out;              /* what is answered, so far out_n bytes */
extern size_t out_n;
extern volatile long end_page; /* others touch below it */
extern const uint64_t *arg;    /* ARGS random numbers */

bool is_shared(const struct slot *s);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What a call returned, or errno. */
void result(const char *what, long r);
void say_hash(const char *p, size_t n);
void fill(char *to, size_t n, uint64_t x);
/* 0, or the signal that it raised. */
int guarded(void (*f)(char *, long), char *at, long n);
void store(char *p, long n);
/* From plan->base on. */
long file_size(void);
void note_end(void);
bool looked_at(const struct slot *s, long p);
/* Bytes of the page before the end of the file. */
long before_end(const struct slot *s, long p);
/* One that is mapped, or NULL. */
struct slot *some(uint64_t x);
/* Pages of a slot: the first, and how many. */
bool range(struct slot *s, uint64_t a, uint64_t b, long *first, long *n);

/* Name and what struct differ_op says. */
#define EVERY(op) \
	op(still, 0, true, false, false) \
	op(check, 0, true, false, false) \
	op(mmap, 14, false, false, false) \
	op(over, 5, false, false, false) \
	op(munmap, 5, false, false, false) \
	op(mprotect, 6, false, false, false) \
	op(mremap, 6, false, false, false) \
	op(double, 2, false, true, false) \
	op(madvise, 10, false, false, false) \
	op(populate, 3, false, false, false) \
	op(msync, 6, false, false, false) \
	op(mincore, 2, false, false, false) \
	op(mlock, 1, false, true, false) \
	op(store, 40, false, false, false) \
	op(raise, 2, false, false, false) \
	op(pwrite, 14, true, false, false) \
	op(pread, 8, true, false, false) \
	op(append, 4, true, false, false) \
	op(stream, 3, true, false, false) \
	op(direct, 4, true, false, true) \
	op(from_map, 6, false, false, false) \
	op(into_map, 6, false, false, false) \
	op(truncate, 6, true, false, false) \
	op(fallocate, 6, true, false, false) \
	op(copy, 6, true, false, false) \
	op(fsync, 4, true, false, false) \
	op(reopen, 2, true, false, false) \
	op(rename, 1, true, false, false) \
	op(fork, 2, false, true, false) \
	op(spawn, 1, false, false, false) \
	op(vm, 2, false, false, false) \
	op(ask, 2, false, true, false) \
	op(pause, 1, true, false, false)

#define OP(name, weight, native, harsh, still) void op_##name(void);
EVERY(OP)
#undef OP

#endif
