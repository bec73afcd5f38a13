/* SPDX-License-Identifier: MIT */
/* residency.h - which pages of the files are in memory, and as what. */
#ifndef FM_RESIDENCY_H
#define FM_RESIDENCY_H

struct fm_json;

#define FM_RESIDENCY_CELLS 1024 /* that a file is divided into, at most */

/* [plain] The answer to "CELLS [FILE]": FILE is a path as the statistics have
 * it, or DEVICE:INODE, in decimal; without it all files that are mapped. 0,
 * -EINVAL: not such an argument, -ENOENT: no such file is mapped, -ENOMEM. To
 * be freed by fm_json_free. One thread at a time. */
int fm_residency_json(struct fm_json *ret, const char *args);

#endif
