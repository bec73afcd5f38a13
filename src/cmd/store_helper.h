/* SPDX-License-Identifier: MIT */
/* store_helper.h - kinds of sources that fastmap-store reads (io/far.h). */
#ifndef FM_STORE_HELPER_H
#define FM_STORE_HELPER_H

#include <stddef.h>
#include <stdint.h>

struct store_kind {
	const char *prefix; /* as the policy has it */
	/* 0, or errno and why in words. */
	int (*open)(const char *where, char *why, size_t size);
	int64_t (*get_size)(void);
	/* By thread number `worker`. Fills buf: 0, or errno. */
	int (*read)(unsigned worker, void *buf, size_t n, uint64_t off);
	/* At once; the most is `want`. */
	unsigned (*workers)(unsigned want);
};

extern const struct store_kind store_nbd, store_plugin, store_zstd;

#endif
