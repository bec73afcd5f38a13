/* SPDX-License-Identifier: MIT */
/*
 * dir.h - the directory of the state files: `warm-start` names it.
 *
 * A state is named after the path of its file, so a file that takes another's
 * place takes its state's place as well. What is read is a regular file of this
 * user that nobody else can write to, in a directory of which the same is true,
 * and no symbolic link. What is written appears as a whole, by rename. At most
 * 256 are kept, the youngest. [plain], and in the guardian: raw
 * system calls, memory of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open it, `make`: make it where it is not there. A descriptor, or -errno:
 * -EPERM if others may write to it. */
int fm_warm_dir_open(const char *path, bool make);

/* The state for a file of that path. *ret_lock: a descriptor that holds a lock
 * on the state until it is closed, or -1: another process holds it. Memory of
 * *ret_len bytes, to be unmapped by fm_warm_dir_free; NULL: *ret_err says
 * why. */
uint8_t *fm_warm_dir_read(int dir, const char *path, size_t *ret_len,
			  int *ret_lock, int *ret_err);
void fm_warm_dir_free(uint8_t *bytes, size_t len);

/* 0 or -errno; what was there before is there still then. */
int fm_warm_dir_write(int dir, const char *path, const uint8_t *bytes,
		      size_t len);
