/* SPDX-License-Identifier: MIT */
/*
 * unserved.h - which mappings of files that a policy covers the kernel serves,
 * and why. Kept for the statistics; mode=observe keeps nothing else.
 */
#pragma once

#include <sys/stat.h>

#include "base/types.h"
#include "file/file.h"
#include "serve/serve.h"

#define FM_LEFT_FILES 128
#define FM_LEFT_REASONS 4

struct fm_unserved {
	struct fm_serve_entry *of; /* NULL: it is free */
	uint32_t file; /* of those that had its number */
	int64_t size;
	_Atomic uint64_t mappings, shared, writable; /* mmap calls */
	_Atomic uint64_t bytes, largest;
	_Atomic uint64_t too_short; /* the longest that was */
	struct {
		_Atomic(enum fm_server_reason) why;
		_Atomic uint64_t n;
	} reason[FM_LEFT_REASONS]; /* the last one also takes the overflow */
	enum fm_server_reason last; /* of these that a mapping was left for */
	struct fm_served served; /* nobody: the engine has it, and counts */
	char path[256];
};

/* The kernel has made `n` mappings of about `len` bytes, which is said once;
 * `by`: who serves the file now. */
struct fm_left {
	const char *path; /* "": as it was */
	size_t len;
	unsigned n;
	bool shared, writable;
	enum fm_server_reason why;
	enum fm_served_by by;
};
/* [plain] Signals are blocked. Returns its entry, or NULL: there is no room. */
struct fm_unserved *fm_unserved_note(const struct stat *st,
				     const struct fm_left *left);
/* [plain] Is it still the entry of its file? */
bool fm_unserved_stands(const struct fm_unserved *l);

/* [plain] Who has the file from now on; nobody: the engine, which counts.
 * Signals are blocked. */
void fm_unserved_by(dev_t dev, ino_t ino, enum fm_served_by by);

/* [plain] Has a mapping of this file that was at least as long been left for
 * being too short? Then one like it need not be looked at any further, and is
 * noted by fm_unserved_again. Without the lock. */
struct fm_unserved *fm_unserved_short_before(const struct stat *st, size_t len);
size_t fm_unserved_longest(void); /* of all files' that were too short */
void fm_unserved_again(struct fm_unserved *l, size_t len, int prot, int flags);

/* [any] A mapping that was too short, of a file that nobody looked at. */
void fm_unserved_unseen(void);

/* [plain] Visits the files in no order, under a lock. Returns how many mappings
 * belong to files that found no room, or were not looked at. */
uint64_t fm_unserved_each(void (*each)(const struct fm_unserved *l, void *arg),
		      void *arg);

/* [plain] Where this file lay when a mapping of it was left; "": none was. */
void fm_unserved_path(dev_t dev, ino_t ino, char ret[256]);

/* [plain] Add for how long these files were served by whom. */
void fm_unserved_served(struct fm_served *sum);

/* [plain] Is there any? */
bool fm_unserved_any(void);

/* [plain] In the guardian: who held the lock is dead. */
void fm_unserved_unlock(void);

/* [plain] mode=observe: one line that says what would have been served. */
void fm_unserved_report(void);
