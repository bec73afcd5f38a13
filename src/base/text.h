/* SPDX-License-Identifier: MIT */
/*
 * text.h - strings and small objects for the constructor: no malloc of the
 * program, no libc call that the shim interposes. [plain], unless it says more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows by anonymous maps. What readers without a lock may have is never freed;
 * else all of it at once. */
struct fm_arena {
	char *at;
	size_t left;
	struct fm_arena_map *maps;
};

/* What it has given is not there any more, and it is as new. */
void fm_arena_drop(struct fm_arena *a);
/* Zeroed, or NULL. */
void *fm_arena_get(struct fm_arena *a, size_t n);
/* A copy of the n bytes at s as a string, or NULL. */
char *fm_arena_text(struct fm_arena *a, const char *s, size_t n);

/* A regular file as a string, at most FM_TEXT_MAX bytes. 0 or -errno. */
#define FM_TEXT_MAX (1u << 20) /* size: bytes */
int fm_read_text(struct fm_arena *a, const char *path, char **ret);
/* A small (proc, cgroup) file into buf, NUL terminated; length or -errno. */
long fm_read_small(const char *path, char *buf, size_t size);

/* Call `each` for every line of what is read from fd, without its end, until it
 * says true. A line that does not fit into buf comes in part, or not at all. */
void fm_read_lines(int fd, char *buf, size_t size,
		   bool (*each)(const char *line, void *arg), void *arg);

/*
 * To open a file takes memory, and where that is short the kernel looks for
 * some first, for a hundred milliseconds at worst. So a thread that must not
 * wait keeps what it reads by fm_read_small open, and remembers what there is
 * not. For that it gets a table of descriptors of its own, without any: no
 * number is the program's.
 */
#define FM_KEPT_FILES 48
struct fm_kept_files {
	unsigned n;
	struct {
		int fd; /* or -errno */
		char path[252];
	} file[FM_KEPT_FILES];
};
/* For the calling thread, for good. False: the kernel cannot (before Linux
 * 5.9). */
bool fm_read_keep(struct fm_kept_files *k);
/* Forget which files there were not: they are looked for again. */
void fm_read_retry(struct fm_kept_files *k);

/* [any] v in decimal, 11 bytes at most with the NUL. */
void fm_number_text(char *buf, unsigned v);

/* [any] The decimal digits at s as a number; where they end, or NULL: there are
 * none, or it does not fit. */
const char *fm_number(const char *s, uint64_t *ret);

bool fm_exists(const char *path);

/* a, b and c one after the other. -1 when they do not fit. */
int fm_join(char *buf, size_t size, const char *a, const char *b,
	    const char *c);

/* The pattern with `%p` replaced by the number; *ret_had: it had one. -1 when
 * it does not fit. */
int fm_expand_pid(const char *pattern, int pid, char *buf, size_t size,
		  bool *ret_had);

/* The path with symbolic links, "." and ".." resolved as far as it exists;
 * the rest is kept as text. Returns 0 or -errno; -ENOENT without /proc. */
int fm_resolve(const char *path, char *buf, size_t size);
