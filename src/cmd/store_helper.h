/* SPDX-License-Identifier: MIT */
/* store_helper.h - kinds of sources that fastmap-store reads (io/far.h). */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STORE_WORKERS 8 /* threads that read, at most */

struct store_kind {
	const char *prefix; /* as the policy has it */
	/* 0, or errno and why in words. */
	int (*open)(const char *where, char *why, size_t size);
	int64_t (*get_size)(void);
	/* By thread number `worker`. Fills buf: 0, or errno. */
	int (*read)(unsigned worker, void *buf, size_t n, uint64_t off);
	/* At once; the most is `want`. */
	unsigned (*workers)(unsigned want);
	/* NULL; or at the end, when no read is under way. */
	void (*close)(void);
};

/* Bytes that the program and we may use, before anything is opened. */
extern uint64_t store_memory;

#define FM_SOURCE(prefix, where, kind) \
	extern const struct store_kind store_##kind;
#define FM_SOURCE_UNSHOWN(prefix, kind)
#include "sources.def"

/* What is no errno, such as the 0 of a call that failed, is EIO. */
static inline int store_errno(int err)
{
	return err >= 1 && err <= 4095 ? err : EIO;
}

/* "64M": bytes, or KiB, MiB, GiB, TiB; n characters, not 0. */
static inline bool store_bytes(const char *s, size_t n, uint64_t *ret)
{
	static const char units[] = "KMGT";
	char *end;
	const unsigned long long v = strtoull(s, &end, 10);
	const char *unit = end < s + n ? strchr(units, *end) : NULL;
	const int shift = unit ? 10 * (int)(unit - units + 1) : 0;

	*ret = v << shift;
	return *s >= '0' && *s <= '9' && v && *ret >> shift == v &&
	       end + !!unit == s + n;
}
