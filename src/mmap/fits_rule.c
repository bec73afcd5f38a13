/* SPDX-License-Identifier: MIT */
#include "fits_rule.h"

#include "base/sys.h"

/* More than there is by that part: without an engine a little more fits, and
 * the kernel, advised, is no slower than the engine with what just does not. */
#define NEARLY 16

/* Of many files the first are the engine's before it is known that the rest is
 * coming. It keeps them, and gets the rest, unless this one is larger. */
bool fm_fits_kernel(const struct fm_fits *f)
{
	const uint64_t all = f->file + f->engines + f->kernels;

	return f->left != UINT64_MAX && f->file >= f->engines &&
	       f->file + f->engines > f->cache &&
	       all <= f->left + f->left / NEARLY;
}
