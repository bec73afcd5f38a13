/* SPDX-License-Identifier: MIT */
/* handed.h - see handed.c. Each is called before the system call is made. */
#pragma once

#include <stddef.h>

/* By its number; what is none of these stays as it is. */
void fm_hand_over(long nr, long a, long b, long c, long d, long e);
/* What clone stores for the parent and for the child, by its flags. */
void fm_hand_ids(unsigned long flags, const void *parent, const void *child);
/* The arguments of clone3. */
void fm_hand_clone(const void *args, size_t size);
/* What seccomp is given for that operation. */
void fm_hand_seccomp(long op, long args);
