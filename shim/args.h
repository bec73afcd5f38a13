/* SPDX-License-Identifier: MIT */
/*
 * args.h - strings that a system call reads while nobody can serve a fault.
 */
#pragma once

#include <stddef.h>

/* Program path and vectors for exec and spawn, as the kernel may have them. */
struct fm_args {
	const char *path;
	char *const *argv;
	char *const *envp;
	void *copy; /* what is to be freed */
	size_t copy_len;
};

/* When anything in `a` lies in managed memory, copy it out and point `a` at
 * the copy. 0 or -errno. */
int fm_args_copy(struct fm_args *a);
void fm_args_free(struct fm_args *a);

/* Write dirty data back, unless we run in a borrowed or copied memory. */
void fm_flush_if_me(void);
