/* SPDX-License-Identifier: MIT */
/*
 * early.h - the first memory for metadata, from the library itself.
 *
 * A program that maps some files which the kernel serves, and ends, needs a few
 * hundred bytes. To begin the allocator for these takes 25 system calls and a
 * hundred page faults. Under the allocator's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* [any] Zeroed, 16-byte aligned; NULL: too much, or there is no more. */
void *fm_early_get(size_t size);
bool fm_early_has(const void *p); /* [any] */
size_t fm_early_size(const void *p); /* [any] what p has room for */
void fm_early_put(void *p); /* [any] */
