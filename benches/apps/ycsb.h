/* SPDX-License-Identifier: MIT */
/* ycsb.h - what ycsb.c wants of a store; the one that is linked defines it. */
#ifndef APPS_YCSB_H
#define APPS_YCSB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY = 20, VALUE = 1000 }; /* "user" and 16 digits */

enum store_how { STORE_NEW, STORE_USE, STORE_READ };

struct reader; /* of one thread */

/* Called with each record of a scan in turn; false: enough. */
typedef bool store_seen(void *arg, const void *key, const void *value,
			size_t len);

/* remedy: the program's own against page faults. Whatever fails ends it. */
void store_open(const char *dir, enum store_how how, size_t bytes, bool remedy);
void store_close(void);
struct reader *store_reader(void);
void store_reader_end(struct reader *);
/* Into value; false: there is none, or of another length. */
bool store_get(struct reader *, const void *key, void *value);
void store_put(const void *key, const void *value);
void store_scan(struct reader *, const void *from, store_seen *, void *arg);

#endif
