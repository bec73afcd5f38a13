/* SPDX-License-Identifier: MIT */
/* probe.h - tries what the engine may use; nothing is left behind. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* 0 or -errno. */
int probe_uffd(bool user_only);
int probe_uffd_device(void);
uint64_t probe_uffd_features(void);

struct probe_feature {
	const char *name;
	unsigned bit;
	const char *needed; /* what is lost without it, or NULL */
};
extern const struct probe_feature probe_features[]; /* ends with a NULL name */

struct probe_uring {
	int create, open_direct, send_fd; /* 0 or -errno */
};
void probe_uring(struct probe_uring *ret);

bool probe_batch_drop(void);
