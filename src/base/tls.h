/* SPDX-License-Identifier: MIT */
/*
 * tls.h - blocks of thread-local variables, for threads and processes of ours
 * that libc does not know of.
 *
 * Code of ours, of what is linked into the library and of libc itself reaches
 * its thread-local variables by fixed distances from the thread pointer, which
 * are the same in each thread. A block holds the initial value of each at that
 * distance, behind the thread pointer zeros where libc has its struct pthread,
 * and of that the few words that compiled code looks at. There is no vector for
 * dynamic thread-local variables (DTV): who asks for one ends at once instead
 * of getting another thread's.
 */
#pragma once

#include <stddef.h>

/* [plain] In the constructor: ask the loader for the distances. Later it would
 * be too late, for who holds its lock may wait for us. What comes by dlopen
 * does not concern us. */
void fm_tls_init(void);

/* [plain] Bytes of a block, whole pages. */
size_t fm_tls_size(void);
/* [plain] Zero a block that has been used. */
void fm_tls_clean(char *mem);
/* [plain] Fill zeroed memory, page-aligned. Returns the thread pointer. */
void *fm_tls_block(char *mem);
/* [plain] First in the thread: set what libc does not take from the initial
 * values. */
void fm_tls_begin(void);
