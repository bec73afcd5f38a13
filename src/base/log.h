/* SPDX-License-Identifier: MIT */
/* log.h - one line to stderr. [fault] safe: formats on the stack, one write. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * ERROR, WARN: something is wrong, with the settings, the machine or the data.
 * Callers of many programs (Tcl's exec, cron, test suites) take any line on
 * standard error for a failure. So what is not one, such as a file that the
 * kernel serves, is a NOTE: at level 1 it is written only where somebody
 * watches the program: standard error is a terminal, or is that of a program
 * that `fastmap run` has started. From level 2 on it is always.
 */
enum { FM_LOG_ERROR, FM_LOG_WARN, FM_LOG_INFO, FM_LOG_DEBUG, FM_LOG_NOTE };

/* Supports %s %d %u %lu %ld %lx %p %zu %c %% only. Prefix "fastmap: " and the
 * newline are added. Lines over 512 bytes are cut. */
void fm_log(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* [any] The same conversions into buf, cut where it ends. Returns the length
 * without the terminator. */
size_t fm_format(char *buf, size_t size, const char *fmt, va_list ap);

/* Lines above this level are not written; the policy sets it. */
extern _Atomic int fm_log_level;

/* [any] Text as it is, of any length, under the same rule about where to. */
void fm_log_text(const char *text, size_t len);

/* [any] "No space left on device" for ENOSPC; NULL, which fm_log takes, for a
 * number that is none. Static text, whatever the locale. */
const char *fm_error_text(int err);

/* [plain] Remember what descriptor 2 is now. A program may close it and get
 * the number again for a database or a socket: such a one is not written to.
 * run: the process that `fastmap run` has become, or 0. */
void fm_log_start(int run);

/* [any] What descriptor 2 is now: a terminal; the same file as that of process
 * pid. */
bool fm_stderr_is_terminal(void);
bool fm_stderr_is_of(int pid);
/* [any] As fm_log_start was told. */
int fm_log_run(void);
