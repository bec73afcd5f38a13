/* SPDX-License-Identifier: MIT */
/*
 * ycsb_lmdb.c - a store in LMDB, or in libmdbx (-DMDBX), which came of it. Both
 * write into the map, and sync when they please.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ycsb.h"

#ifdef MDBX
#include <mdbx.h>
#define NAME(x) mdbx_##x
#define FLAG(x) MDBX_##x
#define MDBX_MAPASYNC MDBX_SAFE_NOSYNC
#define SET_SIZE(bytes) mdbx_env_set_geometry(env, -1, -1, bytes, -1, -1, -1)
#define VAL(data, len) {.iov_base = (void *)(data), .iov_len = len}
#define DATA iov_base
#define SIZE iov_len
typedef MDBX_env env_t;
typedef MDBX_txn txn_t;
typedef MDBX_val val_t;
typedef MDBX_cursor cursor_t;
typedef MDBX_dbi dbi_t;
#else
#include <lmdb.h>
#define NAME(x) mdb_##x
#define FLAG(x) MDB_##x
#define SET_SIZE(bytes) mdb_env_set_mapsize(env, bytes)
#define VAL(data, len) {.mv_data = (void *)(data), .mv_size = len}
#define DATA mv_data
#define SIZE mv_size
typedef MDB_env env_t;
typedef MDB_txn txn_t;
typedef MDB_val val_t;
typedef MDB_cursor cursor_t;
typedef MDB_dbi dbi_t;
#endif

enum { BATCH = 10000 };

struct reader {
	txn_t *txn;
};

static env_t *env;
static dbi_t dbi;
static txn_t *batch; /* of records that are loaded */
static unsigned in_batch;

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, NAME(strerror)(error));
	exit(2);
}

static void open_table(void)
{
	txn_t *txn;

	must(NAME(txn_begin)(env, NULL, 0, &txn), "txn_begin");
	must(NAME(dbi_open)(txn, NULL, 0, &dbi), "dbi_open");
	must(NAME(txn_commit)(txn), "txn_commit");
}

void store_open(const char *dir, enum store_how how, size_t bytes, bool remedy)
{
	unsigned flags = FLAG(WRITEMAP) | FLAG(MAPASYNC);

	if (how == STORE_NEW)
		mkdir(dir, 0755);
	if (remedy)
		flags |= FLAG(NORDAHEAD);
#ifdef MDBX
	mdbx_setup_debug(MDBX_LOG_ERROR, MDBX_DBG_NONE, NULL); /* else it tells all */
#endif
	must(NAME(env_create)(&env), "env_create");
	must(SET_SIZE((bytes * 3 + (1u << 30)) & ~0xffffful), "size of the map");
	must(NAME(env_open)(env, dir, flags, 0644), "env_open");
	open_table();
	if (how == STORE_NEW)
		must(NAME(txn_begin)(env, NULL, 0, &batch), "txn_begin");
}

void store_close(void)
{
	if (batch)
		must(NAME(txn_commit)(batch), "txn_commit");
#ifdef MDBX
	must(mdbx_env_sync_ex(env, true, false), "sync");
#else
	must(mdb_env_sync(env, 1), "sync");
#endif
	NAME(env_close)(env);
}

struct reader *store_reader(void)
{
	struct reader *r = malloc(sizeof(*r));

	must(NAME(txn_begin)(env, NULL, FLAG(RDONLY), &r->txn), "txn_begin");
	NAME(txn_reset)(r->txn);
	return r;
}

void store_reader_end(struct reader *r)
{
	NAME(txn_abort)(r->txn);
	free(r);
}

bool store_get(struct reader *r, const void *key, void *value)
{
	val_t k = VAL(key, KEY), v;
	bool got;

	must(NAME(txn_renew)(r->txn), "txn_renew");
	got = !NAME(get)(r->txn, dbi, &k, &v) && v.SIZE == VALUE;
	if (got)
		memcpy(value, v.DATA, VALUE);
	NAME(txn_reset)(r->txn);
	return got;
}

void store_put(const void *key, const void *value)
{
	val_t k = VAL(key, KEY), v = VAL(value, VALUE);
	txn_t *txn = batch;

	if (!batch)
		must(NAME(txn_begin)(env, NULL, 0, &txn), "txn_begin");
	must(NAME(put)(txn, dbi, &k, &v, batch ? FLAG(APPEND) : 0), "put");
	if (batch && ++in_batch % BATCH)
		return;
	must(NAME(txn_commit)(txn), "txn_commit");
	if (batch)
		must(NAME(txn_begin)(env, NULL, 0, &batch), "txn_begin");
}

void store_scan(struct reader *r, const void *from, store_seen *seen, void *arg)
{
	val_t k = VAL(from, strlen(from)), v;
	cursor_t *c;

	must(NAME(txn_renew)(r->txn), "txn_renew");
	must(NAME(cursor_open)(r->txn, dbi, &c), "cursor_open");
	if (!NAME(cursor_get)(c, &k, &v, k.SIZE ? FLAG(SET_RANGE) : FLAG(FIRST)))
		while (seen(arg, k.DATA, v.DATA, v.SIZE) &&
		       !NAME(cursor_get)(c, &k, &v, FLAG(NEXT)))
			;
	NAME(cursor_close)(c);
	NAME(txn_reset)(r->txn);
}
