/* SPDX-License-Identifier: MIT */
/* log.h - one line to stderr. [fault] safe: formats on the stack, one write. */
#ifndef FM_LOG_H
#define FM_LOG_H

#include <stdarg.h>
#include <stddef.h>

enum { FM_LOG_ERROR, FM_LOG_WARN, FM_LOG_INFO, FM_LOG_DEBUG };

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
 * the number again for a database or a socket: such a one is not written to. */
void fm_log_start(void);

#endif
