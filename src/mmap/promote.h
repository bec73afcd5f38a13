/* SPDX-License-Identifier: MIT */
/*
 * promote.h - a file that was handed to the kernel is the engine's again,
 * while threads use it. docs/design.md has the protocol, and what is not taken.
 */
#pragma once

#include <stdbool.h>

#include "base/reason.h"

struct fm_file;

/* [plain] Without the space lock, with a reference. 0; -EBUSY: not now;
 * -EOPNOTSUPP: never. Otherwise -errno, for now. Then it is the kernel's, as
 * before, and ret_step (or NULL) says what it was given up at. */
int fm_promote(struct fm_file *f, enum fm_server_reason why,
	       const char **ret_step);

/* [plain] All that may be, whatever its cause was, if its path is this one
 * ("": any). Returns how many are the engine's by then; where none is, ret says
 * why. */
struct fm_promote_refusal {
	const char *what, *why; /* why: "" or the reason */
};
unsigned fm_promote_all(const char *path, struct fm_promote_refusal *ret);
