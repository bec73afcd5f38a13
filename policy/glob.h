/* SPDX-License-Identifier: MIT */
/* glob.h - patterns for paths and program names. No locale, no allocation. */
#pragma once

#include <stdbool.h>

/* `*` and `?` stop at a slash, `**` does not; [abc], [a-z], [!x]; backslash
 * quotes. */
bool fm_glob(const char *pattern, const char *s);

/*
 * How the patterns of policy files cover an absolute path:
 *   /data, /data/   the file or everything below (whole components)
 *   /data/[*].mdb   a glob over the whole path
 *   [*].mdb         no slash: a glob over the last component
 */
bool fm_path_match(const char *pattern, const char *path);

/* Is `path` equal to `dir` or below it? "/" covers everything. */
bool fm_path_below(const char *dir, const char *path);

const char *fm_base_name(const char *path);

/* Paths are absolute: "data/x" is none. */
bool fm_never_matches(const char *pattern);
