/* SPDX-License-Identifier: MIT */
/*
 * record.h - the files that this process has mapped, as far as what was hot of
 * them is remembered. Entries stay until the process ends. Inside warm/ only;
 * [any], unless it says more.
 */
#pragma once

#include <sys/stat.h>

#include "pages.h"
#include "state.h"
#include "warm.h"

#define FM_WARM_FILES 64

struct fm_warm_record {
	char *path;
	dev_t dev;
	ino_t ino;
	uint64_t since_ms;       /* it was mapped first */
	_Atomic bool due;        /* the thread shall bring what is missing */
	_Atomic bool looked;     /* for a state */
	_Atomic uint8_t outcome; /* enum fm_look_outcome */
	_Atomic uint64_t known, brought; /* pages */
	struct fm_warm_pages old;  /* of its state, not brought yet */
	struct fm_warm_pages gone; /* hot when it was unmapped */
	int parent;                /* by whom it was mapped; 0: this one */
};

/* Are states kept at all? Without a directory for them nothing is done; whether
 * there is one is asked once. */
bool fm_warm_is_there(void);

/* The lock of `old` and `gone`, of whoever reads or changes them. */
extern struct fm_lock fm_warm_lock;

/* Number i of them, or NULL: there are no more. Without a lock. */
struct fm_warm_record *fm_warm_record_at(unsigned i);
struct fm_warm_record *fm_warm_record_find(dev_t dev, ino_t ino);
bool fm_warm_records_full(void);
/* NULL: no room. */
struct fm_warm_record *fm_warm_record_add(dev_t dev, ino_t ino,
					  const char *path);
/* In the child of fork: the parent brings them, and writes their states while
 * it lives. `dead`: this is the guardian of a child. */
void fm_warm_records_forked(void);
bool fm_warm_record_ours(const struct fm_warm_record *r, bool dead);

/* What the file at that path is now. 0 or -errno. */
int fm_warm_identify(const char *path, dev_t *ret_dev,
		     struct fm_warm_head *ret);
