/* SPDX-License-Identifier: MIT */
/* exerciser.h - state and model that the operations of exerciser share. */
#ifndef EXERCISER_H
#define EXERCISER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define MAPS 5

/* One mapping and, when private, the model of its own copies. */
struct map {
	char *addr;       /* NULL: free slot */
	size_t len;
	uint64_t off;
	bool shared;
	bool readonly;
	uint8_t *own;     /* private: page was stored to */
	char *copy;       /* private: its bytes */
};

extern const char *path;
extern uint64_t max_size;    /* largest size that the file may have */
extern int fd;
extern char *model;          /* what the file should hold, max_size bytes */
extern uint64_t size;        /* what its size should be */
extern char *buf;            /* what was read, max_size bytes */
extern char *heap;           /* what is written, max_size bytes */
extern struct map maps[MAPS];

extern bool gentle;          /* with this file, see struct op */

uint64_t rnd(uint64_t below);
uint64_t some_len(uint64_t most);
uint64_t some_off(uint64_t below);
void fresh(char *to, uint64_t len);

/* Describe the operation, before it is done. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void expect(ssize_t got, ssize_t want, const char *what);
void differ(const char *via, uint64_t off, const char *want, const char *got,
	    size_t len);
/* Touch a byte; the signal that it raised, or 0. */
int touch(volatile char *p, bool write);

void model_write(uint64_t off, const char *from, uint64_t len);
void model_truncate(uint64_t to);
/* Truncation takes private copies that lie wholly beyond the end as well. */
void model_drop_private(uint64_t from);

/* Bytes of the mapping before the end of the file's last page. */
uint64_t map_valid(const struct map *m);
struct map *some_map(void);
void unmap_one(struct map *m);
void unmap_all(void);
void check_page(struct map *m, uint64_t p);

struct op {
	const char *name;
	void (*run)(void);
	unsigned weight;
	/* may hand the file to the kernel, not done while gentle */
	bool demotes;
};
/* Each ends with a NULL name. */
extern const struct op map_ops[], file_ops[], again_ops[];
bool skipped(const struct op *o);

static inline uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t page_up(uint64_t x)
{
	return (x + PAGE - 1) & ~(PAGE - 1);
}

#endif
