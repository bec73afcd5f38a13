/* SPDX-License-Identifier: MIT */
/*
 * user.h - the one way in which a hook looks at what a pointer of the program
 * points to. The kernel answers EFAULT for a bad one; so do these. A hook first
 * lets the kernel judge where nothing of ours is concerned, reads once, and
 * goes by its copy.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* [any] False: EFAULT. As a rule no system call where the object lies on the
 * stack of the calling thread, and one per page elsewhere. */
bool fm_user_read(void *to, const void *from, size_t n);
bool fm_user_write(void *to, const void *from, size_t n);
/* The kernel has used it a moment ago, and did not complain. */
bool fm_user_reread(void *to, const void *from, size_t n);
bool fm_user_rewrite(void *to, const void *from, size_t n);
/* Bytes of a string without its end; -1: EFAULT, or longer than `max`. */
ssize_t fm_user_strnlen(const char *s, size_t max);
/* Around a call that may make pages inaccessible (mm.c): the second is given
 * what the first returned. */
bool fm_user_unmaps(void);
void fm_user_unmapped(bool counted);
void fm_user_fork_child(void);

/* For the kernel in place of a pointer that could not be read: it cannot
 * either. */
#define FM_NOWHERE ((void *)-4096l)

/* An array of iovecs, copied. */
struct fm_vec {
	const struct iovec *iov;
	struct iovec few[64];
	void *many;
};
/* 0, -EFAULT or -ENOMEM; n is at most IOV_MAX. */
int fm_vec_read(struct fm_vec *v, const struct iovec *iov, size_t n);
void fm_vec_free(struct fm_vec *v, size_t n);
