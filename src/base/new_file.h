/* SPDX-License-Identifier: MIT */
/*
 * new_file.h - files that we write where the settings say: statistics, metrics,
 * traces.
 *
 * Somebody else may have been there first, in a folder like /tmp: a FIFO hangs
 * who opens it, a link leads into a file of ours, or of root's. So what is
 * written is a new file beside the name, which then takes its place; only a
 * regular file is replaced, and no link is followed. Where the folder lets
 * nobody make one, a file that is there is written in place, if it is this
 * user's or root's and has no other name.
 *
 * [plain], and in the guardian: raw system calls only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fm_new_file {
	int fd;
	bool beside;
	char temporary[4096];
};

/* Open it: 0 or -errno. `by`: the number of the process that writes, which the
 * temporary name has. Then write to fd; end: `err`: of that. The file takes its
 * name, and is closed. 0 or -errno: there is nothing new. */
int fm_new_file_begin(struct fm_new_file *n, const char *path, int by);
int fm_new_file_end(struct fm_new_file *n, const char *path, int err);
/* As end, and the file stays open. */
int fm_new_file_name(const struct fm_new_file *n, const char *path);

/* All of it. `spare`: a file that is there stays, which is no error. */
int fm_new_file_write(const char *path, int by, const void *text, size_t len,
		      bool spare);
