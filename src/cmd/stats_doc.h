/* SPDX-License-Identifier: MIT */
/* stats_doc.h - what stands in a document of statistics. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* o[key], or 0, "" where there is none. */
uint64_t doc_uint(const json_t *o, const char *key);
double doc_real(const json_t *o, const char *key);
const char *doc_text(const json_t *o, const char *key);

/* Faults of a file, of any kind: `answered` of the totals. */
uint64_t doc_faults(const json_t *file);
/* The same file among those of "files" that are mapped now, or NULL. */
const json_t *doc_find(const json_t *stats, const json_t *file);
/* The one of a list of files with these numbers, or NULL. */
const json_t *doc_by_number(const json_t *files, uint64_t device,
			    uint64_t inode);
/* What of "files" is mapped now, and then what of "left_to_kernel" is not among
 * these: a file whose mappings differ is in both lists, and the first tells
 * more. A new array, or NULL without memory. */
json_t *doc_files(const json_t *stats);
/* Who serves one of them ("engine", "advised", "kernel"), and the reason where
 * it is not the engine. */
const char *doc_server(const json_t *stats, const json_t *file);
const char *doc_why(const json_t *file);
/* What it waits for, where it has had no answer for a second or more: text of
 * at least DOC_WAITS bytes; "": it does not. */
#define DOC_WAITS 160
const char *doc_waits(const json_t *file, char buf[DOC_WAITS]);
/* How many of them are served so. */
unsigned doc_count(const json_t *stats, const char *server);
