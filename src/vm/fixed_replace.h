/* SPDX-License-Identifier: MIT */
/*
 * fixed_replace.h - a mapping of ours takes the place of others of ours, while
 * threads go on reading there.
 *
 * Memory that is laid down anew is for a moment not registered: who touches it
 * then sees zeros, or SIGSEGV. What is ours already stays where it is: it is
 * emptied, and who touches it faults, and waits (fm_space_hiding).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_list;

struct fm_fixed_replace_part {
	uintptr_t start, end;
};

struct fm_over {
	struct fm_fixed_replace_part *v;
	size_t n;
};

/* [any] Under the space lock, before the mappings in [start, end) are let go:
 * note where they are. 0, also if there are none, or -ENOMEM. */
int fm_fixed_replace_note(uintptr_t start, uintptr_t end, struct fm_over *ret);
void fm_fixed_replace_free(struct fm_over *o);
/* [any] The mappings have been let go, their memory is as it was: make it empty
 * registered memory all over [start, end). 0 or -errno. */
int fm_fixed_replace_lay(const struct fm_over *o, uintptr_t start,
			 uintptr_t end, int prot);
/* [any] Likewise for mremap: what is in src, whose pages are locked and have
 * one protection, is forgotten if all of it is in the file, and is read again
 * at its new place `to`. -ENOTSUP: it is not in the file, or what is replaced
 * is not all ours, or no other thread can look. */
int fm_fixed_replace_refill(const struct fm_over *o, const struct fm_list *src,
			    uintptr_t to, size_t len);
/* [any] Likewise where there is no memory yet: registered before it can be
 * touched. 0 or -errno. */
int fm_fixed_replace_lay_new(uintptr_t start, uintptr_t end, int prot);
